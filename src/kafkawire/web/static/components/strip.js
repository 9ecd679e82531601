// A partition as a strip: the width of a mark is its bytes, its colour and letter the codec, its sign what is special.
import { bytes, html, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";

const COLOURS = ["--s7", "--s2", "--s1", "--s0", "--s4"];
const SIGNS = { fault: "--error", control: "--s5", gap: "--warning" };
const HEIGHT = 56;

/** @param {{data: any, picked: number, onPick: (mark: any) => void, onZoom: (from: number, to: number) => void}} props */
export function Strip({ data, picked, onPick, onZoom }) {
  const place = useRef(null);
  const [hover, setHover] = useState(null);
  const drag = useRef(null);
  const { from, to, marks, segments, codecs } = data;
  const span = Math.max(1, to - from);

  const draw = () => {
    const canvas = place.current;
    if (!canvas) return;
    const style = getComputedStyle(canvas), wide = canvas.clientWidth, ratio = devicePixelRatio || 1;
    const probe = (name) => { canvas.style.color = `var(${name})`; return getComputedStyle(canvas).color; };
    const colours = COLOURS.map(probe), signs = Object.fromEntries(Object.entries(SIGNS).map(([key, name]) => [key, probe(name)]));
    const line = probe("--line"), text = probe("--text"), card = probe("--card"), accent = probe("--accent");
    canvas.style.color = "";
    canvas.width = wide * ratio;
    canvas.height = HEIGHT * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const x = (position) => ((position - from) / span) * wide;
    pen.font = `11px ${style.fontFamily}`;
    for (const segment of segments) {
      const left = x(segment.start), right = x(segment.start + segment.size);
      if (right < 0 || left > wide) continue;
      pen.fillStyle = line;
      pen.fillRect(left, 0, Math.max(1, right - left - 1), 4);
      if (segment.state !== "ok") { pen.fillStyle = signs.fault; pen.fillRect(left, 0, Math.max(2, right - left - 1), 4); }
    }
    for (const mark of marks) {
      const left = x(mark[0]), width = Math.max(1, x(mark[0] + mark[1]) - left - (span / wide < 400 ? 1 : 0));
      pen.fillStyle = colours[mark[2]] ?? colours[0];
      pen.fillRect(left, 10, width, 30);
      if (width > 26) { pen.fillStyle = card; pen.fillText(codecs[mark[2]][0], left + 4, 29); }
      if (mark[3]) { pen.fillStyle = signs[mark[3]]; pen.fillRect(left, 42, Math.max(3, width), 4); }
      if (mark[7] === picked) { pen.strokeStyle = text; pen.lineWidth = 2; pen.strokeRect(left, 9, Math.max(3, width), 32); }
    }
    if (hover?.drag !== undefined && hover.drag !== null) { pen.globalAlpha = 0.25; pen.fillStyle = accent; pen.fillRect(Math.min(hover.drag, hover.x), 0, Math.abs(hover.x - hover.drag), HEIGHT); pen.globalAlpha = 1; }
  };
  useEffect(draw, [data, picked, hover]);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(draw);
    watch.observe(place.current);
    addEventListener("theme", draw);
    return () => { watch.disconnect(); removeEventListener("theme", draw); };
  }, [data]);
  const markAt = (at) => {
    const position = from + (at / place.current.clientWidth) * span;
    let low = 0, high = marks.length;
    while (low < high) { const middle = (low + high) >> 1; if (marks[middle][0] + marks[middle][1] <= position) low = middle + 1; else high = middle; }
    return marks[low] && marks[low][0] <= position ? marks[low] : null;
  };
  const offsetX = (event) => event.clientX - place.current.getBoundingClientRect().left;
  const released = (event) => {
    const end = offsetX(event), start = drag.current;
    drag.current = null;
    setHover(null);
    if (start === null) return;
    const at = (each) => Math.round(from + (Math.max(0, Math.min(each, place.current.clientWidth)) / place.current.clientWidth) * span);
    if (Math.abs(end - start) > 5) onZoom(at(Math.min(start, end)), at(Math.max(start, end)));
    else { const mark = markAt(end); if (mark) onPick(mark); }
  };
  const mark = hover && hover.drag === null ? markAt(hover.x) : null;
  return html`<figure class="strip"><canvas ref=${place} role="img" aria-label=${`${data.batches} batches in ${segments.length} segments`} style=${{ height: `${HEIGHT}px` }}
      onPointerDown=${(event) => { drag.current = offsetX(event); }} onPointerUp=${released}
      onPointerMove=${(event) => setHover({ x: offsetX(event), drag: drag.current })} onPointerLeave=${() => { drag.current = null; setHover(null); }}></canvas>
    <figcaption class="soft">${mark ? `${mark[6] === 1 ? "batch" : `${mark[6]} batches`} ${mark[4]} – ${mark[5]}, ${bytes(mark[1])}, ${codecs[mark[2]]}${mark[3] ? `, ${mark[3]}` : ""}`
      : html`<span class="legend">${codecs.map((name, number) => html`<span key=${name}><i style=${{ background: `var(${COLOURS[number]})` }}></i>${name}</span>`)}</span> drag to zoom, click to choose`}</figcaption></figure>`;
}
