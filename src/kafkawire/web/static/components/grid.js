// A table of any length: columns with sorting on the server, rows in windows, and the cursor by keys.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { bytes, duration, moment, number } from "../app/format.js";
import { GoTo } from "./dialog.js";
import { Rows } from "./rows.js";

const PAGE = 100;
const KINDS = { bytes, number, duration, moment, time: (us) => moment(us, "time"), text: (value) => value ?? "" };
const RIGHT = ["bytes", "number", "duration"];

/**
 * Rows that arrive in windows. A new `key` forgets what was loaded; a new `version` shows it until it is loaded again.
 * @param {string} key @param {(start: number, count: number) => Promise<{rows: any[], start: number}>} load @param {any} [version]
 */
export function useWindows(key, load, version) {
  const state = useRef({ key: "" });
  const [, redraw] = useState(0);
  const { current } = state;
  if (current.key !== key || current.version !== version) {
    const old = current.key !== key ? null : current.known.size ? current.known : current.old;
    state.current = { key, version, old, known: new Map(), asked: new Set(), answer: current.answer };
  }
  const own = state.current;
  const ask = (page) => {
    if (own.asked.has(page)) return;
    own.asked.add(page);
    const settle = (answer, failure) => {
      Object.assign(own, { answer: answer ?? own.answer, failure });
      if (state.current === own) redraw((n) => n + 1);
    };
    load(page * PAGE, PAGE).then((answer) => {
      answer.rows.forEach((row, at) => own.known.set(answer.start + at, row));
      settle(answer);
    }, (error) => settle(null, error));
  };
  useEffect(() => ask(0), [key, version]);
  return {
    answer: own.answer,
    failure: own.failure,
    row(index) {
      const row = own.known.get(index);
      if (row === undefined) setTimeout(() => ask(Math.floor(index / PAGE)), 0);
      return row ?? own.old?.get(index);
    },
  };
}

/**
 * A column: its title, its width (pixels, or the least and a share), what it shows of a row (a function, or the kind
 * and the name of a value, such as `bytes:size`), and more: `sort`, `right`, `name` of a class, `wide` if a phone lacks it.
 * @typedef {[string, number|[number, number], string|((row: any) => any), object?]} Column
 */
function columnOf([title, width, show, more = {}]) {
  const [kind, key] = typeof show === "string" ? show.split(":") : [];
  const [least, share] = Array.isArray(width) ? width : [width];
  return { title, least, width: share ? `minmax(${least}px, ${share}fr)` : `${least}px`, right: RIGHT.includes(kind), show: kind ? (row) => KINDS[kind](row[key]) : show, ...more };
}

/**
 * @param {{columns: Column[], count: number, rowOf: (index: number) => any, label: string, cursor: number, sort?: string, down?: boolean,
 *   onSort?: (sort: string, down: boolean) => void, onCursor: (index: number) => void, onOpen?: (index: number) => void, goes?: string,
 *   find?: (text: string) => Promise<number|undefined>|number|undefined, onKey?: (event: KeyboardEvent) => boolean|void,
 *   rowClass?: (row: any) => string, follow?: boolean, focused?: boolean, id?: string}} props
 *   `find` is the place of a text that is not the number of a row, and `goes` says which texts it knows.
 */
export function Grid(props) {
  const { cursor, count, onCursor, onOpen, id = "cell" } = props;
  const [going, setGoing] = useState(false);
  const columns = props.columns.map(columnOf).filter((each) => !each.wide || innerWidth > 640);
  const style = { "--columns": columns.map((each) => each.width).join(" "), "--least": `${columns.reduce((sum, each) => sum + each.least, 0)}px` };
  const row = (index) => {
    const data = props.rowOf(index);
    return html`<div role="row" key=${index} id=${`${id}-${index}`} aria-rowindex=${index + 2} aria-selected=${index === cursor}
        class=${`row${index === cursor ? " cursor" : ""}${data === undefined ? " waiting" : ` ${props.rowClass?.(data) ?? ""}`}`}
        onClick=${() => onCursor(index)} onDblClick=${() => onOpen?.(index)}>
      ${columns.map((column) => {
        const shown = data === undefined ? "·" : column.show(data);
        return html`<span role="gridcell" key=${column.title} class=${`${column.right ? "right " : ""}${column.name ?? ""}`} title=${typeof shown === "object" ? undefined : shown}>${shown}</span>`;
      })}</div>`;
  };
  const head = html`<div class="head" role="row" aria-rowindex="1">${columns.map(({ title, right, sort }) => {
    const sorted = sort && props.sort === sort;
    return html`<span role="columnheader" key=${title} class=${right ? "right" : ""} aria-sort=${sorted ? (props.down ? "descending" : "ascending") : undefined}>
      ${sort && props.onSort ? html`<button onClick=${() => props.onSort(sort, sorted ? !props.down : Boolean(right))}>${title}${sorted ? (props.down ? " ↓" : " ↑") : ""}</button>` : title}</span>`;
  })}</div>`;
  const key = (event) => {
    if (event.key !== "g" || !count) return props.onKey?.(event);
    setGoing(true);
    return true;
  };
  const go = async (text) => {
    const found = (await props.find?.(text)) ?? (/^\d+$/.test(text) ? Number(text) - 1 : -1);
    if (found < 0 || found >= count) throw new Error("There is no such row in this list");
    onCursor(found);
  };
  return html`<div class="grid" style=${style}>
    <${Rows} count=${count} row=${row} head=${head} role="grid" id=${id} label=${props.label} cursor=${cursor} focused=${props.focused ?? true} follow=${props.follow}
      attributes=${{ "aria-rowcount": count + 1, "aria-colcount": columns.length }} onCursor=${onCursor} onOpen=${onOpen} onKey=${key} />
    ${going && html`<${GoTo} what=${props.goes ?? "Number of the row"} onGo=${go} onClose=${() => setGoing(false)} />`}</div>`;
}
