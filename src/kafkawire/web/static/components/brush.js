// Dragging over a chart selects a part of it; moving says where the pointer is. Places are shares of the plot, 0 to 1.
import { html, useRef, useState } from "../vendor/preact-htm.js";

const LEAST = 5;

/**
 * What a chart needs to be brushed: its handlers, where the pointer is, and the part that is being selected.
 * @param {{left?: number, right?: number, onSpan: (from: number, to: number) => void, onPick?: (at: number) => void}} options
 *   `left` and `right` are the pixels beside the plot.
 */
export function useBrush({ left = 0, right = 0, onSpan, onPick }) {
  const [at, setAt] = useState(null);
  const from = useRef(null);
  const place = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left - left) / Math.max(1, box.width - left - right)));
  };
  const handlers = {
    onPointerDown: (event) => { from.current = { place: place(event), x: event.clientX }; event.currentTarget.setPointerCapture(event.pointerId); },
    onPointerMove: (event) => setAt(place(event)),
    onPointerLeave: () => { setAt(null); },
    onPointerUp: (event) => {
      const start = from.current, end = place(event);
      from.current = null;
      setAt(null);
      if (!start) return;
      if (Math.abs(event.clientX - start.x) >= LEAST) onSpan(Math.min(start.place, end), Math.max(start.place, end));
      else onPick?.(end);
    },
  };
  const start = from.current?.place;
  const room = `(100% - ${left + right}px)`;
  const brush = start !== undefined && at !== null && html`<div class="brush" style=${{ left: `calc(${left}px + ${room} * ${Math.min(start, at)})`, width: `calc(${room} * ${Math.abs(at - start)})` }}></div>`;
  return { at, handlers, brush };
}
