// A partition of a log directory: its strip, its batches, and the records of the batch at the cursor.
import { html, useCallback, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { bytes, counted, moment, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Grid, useWindows } from "/static/components/grid.js";
import { Empty, Failed } from "/static/components/states.js";
import { Strip } from "/static/components/strip.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function PartitionView({ place, about }) {
  const [id, , topic, partition] = place.parts;
  const source = about.sources.find((each) => each.id === id);
  const base = `/api/logs/${id}/${encodeURIComponent(topic)}/${partition}`;
  const { filter = "", from = "", to = "", row: at = "0" } = place.query;
  const [strip, setStrip] = useState(/** @type {any} */ (null));
  const [problems, setProblems] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const cursor = Number(at);
  const key = `${base} ${filter}`;
  const list = useWindows(key, useCallback((start, count) => get(`${base}/batches`, { filter, start, count }), [key]));
  useEffect(() => { get(`${base}/strip`, { from, to }).then(setStrip, setFailure); }, [base, from, to]);
  useEffect(() => { get(`${base}/problems`).then(setProblems, () => {}); }, [base]);
  if (failure) return html`<${Failed} error=${failure} title="This partition cannot be shown" />`;
  const batch = list.row(cursor);
  const count = list.answer?.matched ?? 0;
  const columns = [
    { key: "first", title: "offsets", width: "minmax(120px, 1.4fr)", show: (/** @type {any} */ r) => html`<a tabindex="-1" href=${link(["bytes", id, r[0]])}>${r[1]}${r[1] === r[2] ? "" : ` – ${r[2]}`}</a>` },
    { key: "records", title: "records", width: "80px", right: true, show: (/** @type {any} */ r) => (r[3] < 0 ? "" : number(r[3])) },
    { key: "size", title: "size", width: "84px", right: true, show: (/** @type {any} */ r) => bytes(r[4]) },
    { key: "codec", title: "codec", width: "72px", show: (/** @type {any} */ r) => r[5] },
    { key: "time", title: "latest record", width: "184px", show: (/** @type {any} */ r) => moment(r[6]) },
    { key: "producer", title: "producer", width: "minmax(80px, 1fr)", show: (/** @type {any} */ r) => r[7] ?? "" },
    { key: "sequence", title: "sequence", width: "80px", right: true, show: (/** @type {any} */ r) => r[8] ?? "" },
    { key: "kind", title: "kind", width: "110px", name: "state", show: (/** @type {any} */ r) => (r[11] ? r[10] : "damaged") },
  ];
  return html`<${Tabs} source=${source} current="" />
    <div class="tools"><h1>${topic}-${partition}</h1><${FilterBox} label="Filter batches" value=${filter} failure=${list.failure} placeholder="codec = zstd and records > 100   /" onChange=${(text) => refine({ filter: text, row: "" })} />
      <span class="soft" role="status">${list.answer ? `${number(count)}${count === list.answer.total ? "" : ` of ${number(list.answer.total)}`} batches` : ""}</span>
      ${(from || to) && html`<button class="chip" onClick=${() => refine({ from: "", to: "" })}>whole partition ✕</button>`}
      ${problems?.total > 0 && html`<span class="chip error" title=${problems.rows.map((each) => each.problem).join("\n")}>${counted(problems.total, "wrong entry", "wrong entries")}</span>`}</div>
    ${strip && html`<${Strip} data=${strip} picked=${cursor} onPick=${(mark) => refine({ row: mark[7], filter: "" })} onZoom=${(low, high) => refine({ from: low, to: high })} />`}
    ${strip?.segments.filter((each) => each.fault).map((each) => html`<div class="notice error">Segment ${each.base}: ${each.fault}</div>`)}
    ${list.answer && !count ? html`<${Empty} title=${list.answer.total ? "No batch fits the filter" : "This partition is empty"}>${list.answer.total ? html`<button onClick=${() => refine({ filter: "" })}>Show all</button>` : "Its files have no batches."}<//>`
      : html`<div class="halves"><div><${Grid} label="Batches" columns=${columns} least="820px" count=${count} rowOf=${list.row} cursor=${cursor} onCursor=${(row) => refine({ row })}
          onOpen=${(index) => { const one = list.row(index); if (one) go(link(["bytes", id, one[0]])); }} rowClass=${(r) => (r[11] ? "" : "bad")} /></div>
        <div>${batch && html`<${Records} id=${id} batch=${batch} />`}</div></div>`}`;
}

function Records({ id, batch }) {
  const [cursor, setCursor] = useState(0);
  const key = `${id} ${batch[0]}`;
  const list = useWindows(key, useCallback((start, count) => get(`/api/logs/${id}/records`, { batch: batch[0], start, count }), [key]));
  useEffect(() => setCursor(0), [key]);
  const columns = [
    { key: "offset", title: "offset", width: "100px", show: (/** @type {any} */ r) => r[0] },
    { key: "key", title: "key", width: "minmax(80px, 1fr)", name: "mono", show: (/** @type {any} */ r) => r[2] },
    { key: "value", title: "value", width: "minmax(140px, 3fr)", name: "mono", show: (/** @type {any} */ r) => r[3] },
  ];
  if (list.failure) return html`<${Failed} error=${list.failure} title="These records cannot be read" ><a class="button" href=${link(["bytes", id, batch[0]])}>Show the bytes</a><//>`;
  const path = `[0].records[${cursor}]`;
  return html`<div class="tools"><h2>${counted(list.answer?.total ?? 0, "record")}</h2><span class="grow"></span><a class="button" href=${link(["bytes", id, batch[0]])}>Bytes of the batch</a></div>
    <${Grid} label="Records" id="record" focused=${false} columns=${columns} least="380px" count=${list.answer?.total ?? 0} rowOf=${list.row} cursor=${cursor} onCursor=${setCursor} onOpen=${() => go(link(["bytes", id, batch[0]], { node: path }))} />`;
}
