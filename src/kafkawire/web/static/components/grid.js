// A table of any length: columns with sorting on the server, rows in windows, and the cursor by keys.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { Rows } from "./rows.js";

const PAGE = 100;

/**
 * Rows that arrive in windows. A new `key` forgets what was loaded.
 * @param {string} key @param {(start: number, count: number) => Promise<{rows: any[], start: number}>} load
 */
export function useWindows(key, load) {
  const state = useRef({ key: "", known: new Map(), asked: new Set(), answer: /** @type {any} */ (null), failure: /** @type {any} */ (null) });
  const [, redraw] = useState(0);
  const now = state.current;
  if (now.key !== key) {
    const before = now.answer;
    state.current = { key, known: new Map(), asked: new Set(), answer: before, failure: null };
  }
  const own = state.current;
  const ask = (/** @type {number} */ page) => {
    if (own.asked.has(page)) return;
    own.asked.add(page);
    load(page * PAGE, PAGE).then((answer) => {
      answer.rows.forEach((row, number) => own.known.set(answer.start + number, row));
      if (state.current === own) { own.answer = answer; own.failure = null; redraw((n) => n + 1); }
    }, (error) => { if (error.name !== "AbortError" && state.current === own) { own.failure = error; redraw((n) => n + 1); } });
  };
  useEffect(() => ask(0), [key]);
  return {
    answer: own.answer,
    failure: own.failure,
    loaded: own.known.size > 0 || (own.answer && own.asked.size > 0 && !own.failure),
    /** @param {number} index */
    row(index) {
      const row = own.known.get(index);
      if (row === undefined) setTimeout(() => ask(Math.floor(index / PAGE)), 0);
      return row;
    },
  };
}

/**
 * @typedef {{key: string, title: string, width: string, sort?: string, right?: boolean, show: (row: any) => any, name?: string}} Column
 * @param {{columns: Column[], count: number, rowOf: (index: number) => any, label: string, cursor: number, sort?: string, down?: boolean,
 *   onSort?: (sort: string, down: boolean) => void, onCursor: (index: number) => void, onOpen?: (index: number) => void,
 *   onKey?: (event: KeyboardEvent) => boolean|void, rowClass?: (row: any) => string, least?: string, follow?: boolean, focused?: boolean, id?: string}} props
 */
export function Grid(props) {
  const { columns, cursor, id = "cell" } = props;
  const template = columns.map((each) => each.width).join(" ");
  const style = { "--columns": template, "--least": props.least ?? "0" };
  const row = (/** @type {number} */ index) => {
    const data = props.rowOf(index);
    const extra = data === undefined ? " waiting" : ` ${props.rowClass?.(data) ?? ""}`;
    return html`<div role="row" key=${index} id=${`${id}-${index}`} aria-rowindex=${index + 2} aria-selected=${index === cursor}
        class=${`row${index === cursor ? " cursor" : ""}${extra}`}
        onClick=${() => { props.onCursor(index); }} onDblClick=${() => props.onOpen?.(index)}>
      ${columns.map((column) => html`<span role="gridcell" key=${column.key} class=${`${column.right ? "right " : ""}${column.name ?? ""}`}
        title=${textOf(data === undefined ? "" : column.show(data))}>${data === undefined ? "·" : column.show(data)}</span>`)}
    </div>`;
  };
  const head = html`<div class="head" role="row" aria-rowindex="1">${columns.map((column) => {
    const sorted = column.sort && props.sort === column.sort;
    return html`<span role="columnheader" key=${column.key} class=${column.right ? "right" : ""} aria-sort=${sorted ? (props.down ? "descending" : "ascending") : undefined}>
      ${column.sort && props.onSort ? html`<button onClick=${() => props.onSort(column.sort, sorted ? !props.down : Boolean(column.right))}>${column.title}${sorted ? (props.down ? " ↓" : " ↑") : ""}</button>` : column.title}</span>`;
  })}</div>`;
  return html`<div class="grid" style=${style}>
    <${Rows} count=${props.count} row=${row} head=${head} role="grid" id=${id} label=${props.label} cursor=${cursor} focused=${props.focused ?? true} follow=${props.follow}
      attributes=${{ "aria-rowcount": props.count + 1, "aria-colcount": columns.length }} onCursor=${props.onCursor} onOpen=${props.onOpen} onKey=${props.onKey} />
  </div>`;
}

/** @param {any} shown */
const textOf = (shown) => (typeof shown === "string" || typeof shown === "number" ? String(shown) : undefined);
