// Hex and text of a buffer. Each column is one text node with the rows in sight; fields are lit by ranges over it,
// with the custom highlights of CSS, so that hovering changes no element.
import { html, useEffect, useLayoutEffect, useRef } from "../vendor/preact-htm.js";

const LINE = 20;
const CHUNK = 1 << 16;
const TALLEST = 8_000_000;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const TEXT = Array.from({ length: 256 }, (_, byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·"));

/** @typedef {{start: number, end: number}} Span */

/** Keeps the chunks of a buffer that were read. */
export class Chunks {
  /** @param {number} length @param {(start: number, count: number) => Promise<Uint8Array>} read */
  constructor(length, read) {
    this.length = length;
    this.read = read;
    /** @type {Map<number, Uint8Array>} */
    this.known = new Map();
    this.asked = new Set();
    this.changed = () => {};
  }

  /** @param {number} offset */
  at(offset) {
    const number = Math.floor(offset / CHUNK);
    const chunk = this.known.get(number);
    if (chunk) return chunk[offset - number * CHUNK];
    if (!this.asked.has(number)) {
      this.asked.add(number);
      this.read(number * CHUNK, CHUNK).then((bytes) => {
        this.known.set(number, bytes);
        if (this.known.size > 64) this.forget(number);
        this.changed();
      }, () => this.asked.delete(number));
    }
    return -1;
  }

  /** @param {number} kept */
  forget(kept) {
    const oldest = [...this.known.keys()].find((each) => each !== kept);
    this.known.delete(oldest);
    this.asked.delete(oldest);
  }

  /** All bytes of a span, read if needed. @param {number} start @param {number} end */
  async span(start, end) {
    const out = new Uint8Array(end - start);
    for (let at = start; at < end;) {
      const part = await this.read(at, Math.min(CHUNK, end - at));
      if (!part.length) break;
      out.set(part, at - start);
      at += part.length;
    }
    return out;
  }
}

/**
 * @param {{name: string, label: string, chunks: Chunks, picked: Span|null, faults?: Span[], marks?: Span[], lit: Span|null,
 *   onHover: (offset: number) => void, onPick: (offset: number) => void, onKey?: (event: KeyboardEvent) => boolean|void}} props
 *   `name` keeps the highlights of several panes apart: `main`, `inner` or `other`.
 */
export function HexPane(props) {
  const outer = useRef(null);
  const offsets = useRef(null), hexes = useRef(null), texts = useRef(null), space = useRef(null), box = useRef(null);
  const state = useRef({ first: 0, rows: 0, width: 16, room: 0, byte: 0, top: 0 });
  const latest = useRef(props);
  latest.current = props;
  const { chunks } = props;

  const draw = () => {
    const now = state.current, element = outer.current;
    if (!element) return;
    const lines = Math.max(1, Math.ceil(chunks.length / now.width));
    const total = lines * LINE, tall = Math.min(total, TALLEST);
    space.current.style.height = `${tall}px`;
    const scroll = element.scrollTop;
    now.top = total > TALLEST ? scroll * (total - now.room) / Math.max(1, tall - now.room) : scroll;
    now.first = Math.max(0, Math.floor(now.top / LINE));
    now.rows = Math.min(lines - now.first, Math.ceil(now.room / LINE) + 1);
    box.current.style.transform = `translateY(${scroll - (now.top - now.first * LINE)}px)`;
    let left = "", middle = "", right = "";
    for (let row = 0; row < now.rows; row += 1) {
      const start = (now.first + row) * now.width;
      const end = Math.min(start + now.width, chunks.length);
      left += `${String(start).padStart(8, " ")}\n`;
      for (let at = start; at < start + now.width; at += 1) {
        const byte = at < end ? chunks.at(at) : -2;
        middle += (byte >= 0 ? HEX[byte] : byte === -1 ? "··" : "  ") + (at - start === now.width - 1 ? "" : " ");
        right += byte >= 0 ? TEXT[byte] : " ";
      }
      middle += "\n";
      right += "\n";
    }
    offsets.current.firstChild.data = left;
    hexes.current.firstChild.data = middle;
    texts.current.firstChild.data = right;
    light();
  };

  /** Light spans by ranges over the two text nodes. */
  const light = () => {
    if (!globalThis.Highlight || !hexes.current) return;
    const { name, picked, lit, faults, marks } = latest.current;
    set(`${name}-picked`, picked ? [picked] : []);
    set(`${name}-lit`, lit ? [lit] : []);
    set(`${name}-fault`, faults ?? []);
    set(`${name}-mark`, marks ?? []);
  };
  const set = (name, spans) => {
    const now = state.current, ranges = [];
    for (const span of spans) {
      const start = Math.max(span.start, now.first * now.width), end = Math.min(span.end, (now.first + now.rows) * now.width, chunks.length);
      for (let at = start; at < end;) {
        const row = Math.floor(at / now.width) - now.first, column = at % now.width;
        const stop = Math.min(end, at - column + now.width), count = stop - at;
        ranges.push(range(hexes.current, row * now.width * 3 + column * 3, count * 3 - 1));
        ranges.push(range(texts.current, row * (now.width + 1) + column, count));
        at = stop;
      }
    }
    CSS.highlights.set(name, new Highlight(...ranges));
  };

  const measure = () => {
    const element = outer.current;
    if (!element) return;
    const now = state.current;
    now.room = element.clientHeight;
    const probe = hexes.current.parentElement.querySelector(".probe").getBoundingClientRect().width / 100;
    now.byte = probe * 3;
    const fits = Math.floor((element.clientWidth - 32 - probe * 12) / (probe * 4.15));
    now.width = fits >= 32 ? 32 : fits >= 16 ? 16 : fits >= 8 ? 8 : 4;
    draw();
  };

  useLayoutEffect(() => {
    chunks.changed = draw;
    const watch = new ResizeObserver(measure);
    watch.observe(outer.current);
    measure();
    return () => {
      watch.disconnect();
      for (const kind of ["picked", "lit", "fault", "mark"]) globalThis.CSS?.highlights?.delete(`${props.name}-${kind}`);
    };
  }, [chunks]);
  useEffect(() => {
    const now = state.current, { picked } = props;
    if (picked) {
      const row = Math.floor(picked.start / now.width), at = row * LINE;
      const lines = Math.ceil(chunks.length / now.width) * LINE;
      const scale = lines > TALLEST ? (TALLEST - now.room) / (lines - now.room) : 1;
      if (at < now.top || at + LINE > now.top + now.room) outer.current.scrollTop = Math.max(0, at - now.room / 3) * scale;
    }
    draw();
  }, [props.picked, props.faults, props.marks, chunks]);
  useLayoutEffect(light, [props.lit]);

  const offsetAt = (event) => {
    const now = state.current;
    const place = hexes.current.getBoundingClientRect(), other = texts.current.getBoundingClientRect();
    const row = Math.floor((event.clientY - place.top) / LINE);
    const inText = event.clientX >= other.left;
    const column = Math.floor(inText ? (event.clientX - other.left) / (now.byte / 3) : (event.clientX - place.left + now.byte / 6) / now.byte);
    const offset = (now.first + row) * now.width + column;
    return row < 0 || column < 0 || column >= now.width || offset >= chunks.length ? -1 : offset;
  };
  const pressed = (event) => {
    if (props.onKey?.(event)) return event.preventDefault();
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -state.current.width, ArrowDown: state.current.width }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return undefined;
    const to = (props.picked?.start ?? 0) + step;
    if (to >= 0 && to < chunks.length) props.onPick(to);
    return event.preventDefault();
  };

  return html`<div class="hexpane" ref=${outer} role="group" tabindex="0" aria-label=${props.label} onScroll=${draw} onKeyDown=${pressed}
      onMouseMove=${(event) => props.onHover(offsetAt(event))} onMouseLeave=${() => props.onHover(-1)}
      onClick=${(event) => { const at = offsetAt(event); if (at >= 0) props.onPick(at); }}>
    <div class="space" ref=${space}><div class="box" ref=${box}>
      <pre class="offsets" ref=${offsets}> </pre><pre class="hexes" ref=${hexes}> </pre><pre class="texts" ref=${texts}> </pre>
      <pre class="probe" aria-hidden="true">${"0".repeat(100)}</pre>
    </div></div>
  </div>`;
}

/** @param {HTMLElement} element @param {number} start @param {number} count */
function range(element, start, count) {
  const made = document.createRange();
  const node = (element.firstChild);
  made.setStart(node, Math.min(start, node.length));
  made.setEnd(node, Math.min(start + count, node.length));
  return made;
}
