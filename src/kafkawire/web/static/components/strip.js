// A partition as a strip: the width of a mark is its bytes, its colour and letter the codec, its sign what is special.
import { bytes, html } from "../lib.js";
import { useBrush } from "./brush.js";

const COLOURS = [7, 2, 1, 0, 4];
const LETTER = 0.02;

/** @param {{data: any, picked: number, onPick: (mark: any) => void, onZoom: (from: number, to: number) => void}} props */
export function Strip({ data, picked, onPick, onZoom }) {
  const { from, to, marks, segments, codecs } = data;
  const span = Math.max(1, to - from);
  const markAt = (place) => {
    const position = from + place * span;
    let low = 0, high = marks.length;
    while (low < high) { const middle = (low + high) >> 1; if (marks[middle][0] + marks[middle][1] <= position) low = middle + 1; else high = middle; }
    return marks[low] && marks[low][0] <= position ? marks[low] : null;
  };
  const { at, handlers, brush } = useBrush({
    onSpan: (start, end) => onZoom(Math.round(from + start * span), Math.round(from + end * span)),
    onPick: (place) => { const mark = markAt(place); if (mark) onPick(mark); },
  });
  const x = (position) => `${((position - from) / span) * 100}%`;
  const wide = (size) => `${Math.max(0.08, (size / span) * 100 - (marks.length < 200 ? 0.1 : 0))}%`;
  const mark = at !== null && !brush ? markAt(at) : null;
  return html`<figure class="strip"><div class="plot" ...${handlers}><svg role="img" aria-label=${`${data.batches} batches in ${segments.length} segments`}>
      ${segments.map((each) => html`<rect key=${`s${each.start}`} class=${each.state === "ok" ? "segment" : "fault"} x=${x(each.start)} width=${wide(each.size)} height="4" />`)}
      ${marks.map((each) => html`<g key=${each[0]}><rect class=${`c${COLOURS[each[2]]}`} x=${x(each[0])} y="10" width=${wide(each[1])} height="30" />
        ${each[1] / span > LETTER && html`<text x=${x(each[0])} dx="4" y="29">${codecs[each[2]][0]}</text>`}
        ${each[3] && html`<rect class=${each[3]} x=${x(each[0])} y="42" width=${wide(each[1])} height="4" />`}
        ${each[7] === picked && html`<rect class="picked" x=${x(each[0])} y="9" width=${wide(each[1])} height="32" />`}</g>`)}
    </svg>${brush}</div>
    <figcaption class="soft">${mark ? `${mark[6] === 1 ? "batch" : `${mark[6]} batches`} ${mark[4]} – ${mark[5]}, ${bytes(mark[1])}, ${codecs[mark[2]]}${mark[3] ? `, ${mark[3]}` : ""}`
      : html`<ul class="legend">${codecs.map((name, number) => html`<li key=${name}><i class=${`b${COLOURS[number]}`}></i>${name}</li>`)}<li>drag to zoom, click to choose</li></ul>`}</figcaption></figure>`;
}
