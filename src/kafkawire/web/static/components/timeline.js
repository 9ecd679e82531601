// Exchanges over time: the server draws the chart as it draws those of reports; dragging selects a span.
import { duration, html, moment, number } from "../lib.js";
import { useBrush } from "./brush.js";
import { drawn } from "./drawing.js";

/** @param {{line: any, kind: "count"|"wait", onSpan: (since: string, until: string) => void}} props */
export function Timeline({ line, kind, onSpan }) {
  const { drawing, counts, plot = [0, 0] } = line ?? {};
  const time = (place) => String(BigInt(line.start) + BigInt(Math.round(place * line.step * counts.length)));
  const { at, handlers, brush } = useBrush({ left: plot[0], right: plot[1], onSpan: (from, to) => onSpan(time(from), time(to)) });
  const told = at === null || !drawing ? "" : describe(line, Math.min(counts.length - 1, Math.floor(at * counts.length)), kind);
  return html`<figure class="timeline"><div class="plot" ...${drawing ? handlers : {}}>${drawing && drawn(drawing)}${brush}</div><figcaption class="soft">${told}</figcaption></figure>`;
}

/** @param {any} data @param {number} at @param {string} kind */
function describe(data, at, kind) {
  const when = moment(String(BigInt(data.start) + BigInt(at) * BigInt(data.step)));
  return kind === "count" ? `${when}: ${number(data.counts[at])} exchanges, ${number(data.errors[at])} with errors`
    : `${when}: p50 ${duration(data.p50[at]) || "none"}, p99 ${duration(data.p99[at]) || "none"}`;
}
