// A list of any length: only the rows in sight are in the document.
//
// An element may be 33 million pixels high in one browser and 17 million in another. A longer list scrolls an area of
// TALLEST pixels with scaled positions; the wheel and the keys then move by rows.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact-htm.js";

const TALLEST = 8_000_000;
const BEYOND = 6;
const HEAD = 30;

/**
 * @typedef {object} RowsProps
 * @property {number} count
 * @property {(index: number) => any} row the element of a row; its root has the class `row`
 * @property {number} [height] pixels of a row
 * @property {string} label the name of the list for assistive technology
 * @property {string} [role]
 * @property {number} [cursor]
 * @property {string} [id] prefix of the ids of rows
 * @property {(index: number) => void} [onCursor]
 * @property {(index: number) => void} [onOpen]
 * @property {(event: KeyboardEvent) => boolean|void} [onKey] true if the key was used
 * @property {boolean} [focused] take the focus when it appears
 * @property {boolean} [follow] stay at the end while rows are added
 * @property {any} [head] a row that stays at the top, HEAD pixels high
 * @property {object} [attributes]
 */

/** @param {RowsProps} props */
export function Rows(props) {
  const { count, row, height = 26, label, role = "listbox", cursor = -1, id = "row" } = props;
  const outer = useRef(null);
  const view = useRef({ top: 0, own: false });
  const [, redraw] = useState(0);
  const [room, setRoom] = useState(400);
  const total = count * height;
  const tall = Math.min(total, TALLEST);
  const scaled = total > TALLEST;

  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setRoom(entry.contentRect.height - (props.head ? HEAD : 0)));
    watch.observe(outer.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => { if (props.focused) outer.current?.focus({ preventScroll: true }); }, []);

  /** @param {number} top */
  const scrollTo = (top) => {
    const state = view.current;
    state.top = Math.max(0, Math.min(top, total - room));
    state.own = true;
    outer.current.scrollTop = scaled ? state.top * (tall - room) / Math.max(1, total - room) : state.top;
    redraw((n) => n + 1);
  };
  const scrolled = () => {
    const state = view.current;
    const at = outer.current.scrollTop;
    if (!scaled) state.top = at;
    else if (!state.own) state.top = at * (total - room) / Math.max(1, tall - room);
    state.own = false;
    redraw((n) => n + 1);
  };
  useEffect(() => {
    if (!scaled) return undefined;
    const turn = (event) => {
      event.preventDefault();
      scrollTo(view.current.top + (event.deltaMode ? event.deltaY * height : event.deltaY));
    };
    const element = outer.current;
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  });
  useLayoutEffect(() => {
    if (cursor < 0 || cursor >= count) return;
    const at = cursor * height;
    if (at < view.current.top) scrollTo(at);
    else if (at + height > view.current.top + room) scrollTo(at + height - room);
  }, [cursor, room]);
  useLayoutEffect(() => { if (props.follow) scrollTo(total); }, [count, props.follow]);

  const pressed = (event) => {
    if (event.target !== outer.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (props.onKey?.(event)) {
      event.preventDefault();
      return;
    }
    const page = Math.max(1, Math.floor(room / height) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    if (event.key in steps && props.onCursor && count) {
      props.onCursor(Math.max(0, Math.min(count - 1, cursor + steps[event.key])));
      event.preventDefault();
    } else if (event.key === "Enter" && cursor >= 0 && props.onOpen) {
      props.onOpen(cursor);
      event.preventDefault();
    }
  };

  const top = Math.max(0, Math.min(view.current.top, total - room));
  const first = Math.max(0, Math.floor(top / height) - BEYOND);
  const last = Math.min(count, Math.ceil((top + room) / height) + BEYOND);
  const place = scaled && outer.current ? outer.current.scrollTop - (top - first * height) : first * height;
  const shown = [];
  for (let index = first; index < last; index += 1) shown.push(row(index));
  return html`<div class="rows" ref=${outer} role=${role} tabindex="0" aria-label=${label} onScroll=${scrolled}
      aria-activedescendant=${cursor >= first && cursor < last ? `${id}-${cursor}` : undefined}
      onKeyDown=${pressed} ...${props.attributes ?? {}}>
    ${props.head}
    <div class="space" role="presentation" style=${{ height: `${tall}px` }}>
      <div class="window" role="presentation" style=${{ transform: `translateY(${place}px)` }}>${shown}</div>
    </div>
  </div>`;
}
