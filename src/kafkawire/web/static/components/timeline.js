// Exchanges over time with uPlot: counts, errors and percentiles; dragging selects a span.
import { duration, html, moment, number, useEffect, useLayoutEffect, useRef } from "../lib.js";

/** @param {string} name */
const colour = (name) => {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

/** @param {{data: any, onSpan: (since: string, until: string) => void, kind: "count"|"wait", height?: number}} props */
export function Timeline({ data, onSpan, kind, height = 96 }) {
  const place = useRef(null);
  const plot = useRef(null);
  const latest = useRef(onSpan);
  latest.current = onSpan;
  const draw = async () => {
    const { uPlot } = await import("../vendor/uplot.js");
    if (!place.current || !data?.start) return;
    plot.current?.destroy();
    const start = Number(BigInt(data.start)) / 1e6, step = data.step / 1e6;
    const times = data.counts.map((_, at) => start + at * step);
    const soft = colour("--soft"), line = colour("--line");
    const series = kind === "count"
      ? [[data.counts, "exchanges", "--s0"], [data.errors, "errors", "--s3"]]
      : [[data.p50, "p50", "--s1"], [data.p99, "p99", "--s2"]];
    const bars = uPlot.paths.bars({ size: [0.9, 40], align: 1 });
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot.current = new uPlot({
      width: place.current.clientWidth, height, padding: [6, 8, 0, 0], legend: { show: false },
      tzDate: (ts) => (localStorage.getItem("zone") === "local" ? new Date(ts * 1000) : uPlot.tzDate(new Date(ts * 1000), "Etc/UTC")),
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
      axes: [{ ...axis, size: 24, space: 90, values: (_, marks) => marks.map((mark) => moment(Math.round(mark * 1e6), "time").slice(0, step < 1 ? 12 : 8)) }, { ...axis, size: 52, values: (_, values) => values.map((value) => (kind === "count" ? number(value) : duration(value))) }],
      scales: { x: { time: true, range: [times[0], times[times.length - 1] + step] }, y: { range: (_, __, most) => [0, Math.max(most, 1)] } },
      series: [{}, ...series.map(([, label, name]) => (kind === "count"
        ? { label, fill: colour(name), stroke: colour(name), width: 0, paths: bars, points: { show: false } }
        : { label, stroke: colour(name), width: 1.5, spanGaps: true, points: { show: times.length < 40, size: 4 } }))],
      hooks: {
        setSelect: [(own) => {
          if (own.select.width < 4) return;
          const since = own.posToVal(own.select.left, "x"), until = own.posToVal(own.select.left + own.select.width, "x");
          latest.current(String(Math.floor(since * 1e6)), String(Math.ceil(until * 1e6)));
        }],
        setCursor: [(own) => {
          const at = own.cursor.idx;
          const said = place.current?.nextElementSibling;
          if (said) said.textContent = at === null || at === undefined ? "" : describe(data, at, kind);
        }],
      },
    }, [times, ...series.map(([values]) => values)], place.current);
  };
  useEffect(() => { draw(); }, [data, kind]);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: place.current.clientWidth, height }));
    watch.observe(place.current);
    const again = () => draw();
    addEventListener("theme", again);
    return () => { watch.disconnect(); removeEventListener("theme", again); plot.current?.destroy(); };
  }, []);
  return html`<figure class="timeline"><div ref=${place} style=${{ height: `${height}px` }} role="img" aria-label=${kind === "count" ? "Exchanges and errors over time" : "Wait over time, median and 99th percentile"}></div><figcaption class="soft"></figcaption></figure>`;
}

/** @param {any} data @param {number} at @param {string} kind */
function describe(data, at, kind) {
  const when = moment(String(BigInt(data.start) + BigInt(at) * BigInt(data.step)));
  return kind === "count" ? `${when}: ${number(data.counts[at])} exchanges, ${number(data.errors[at])} with errors`
    : `${when}: p50 ${duration(data.p50[at]) || "none"}, p99 ${duration(data.p99[at]) || "none"}`;
}
