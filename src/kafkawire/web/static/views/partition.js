// A partition of a log directory: its strip, its batches, and the records of the batch at the cursor.
import { counted, Empty, Failed, get, go, html, link, Loading, number, refine, useAnswer, useEffect, useState } from "../lib.js";
import { FilterBox } from "../components/filterbox.js";
import { Grid, useWindows } from "../components/grid.js";
import { Chip } from "../components/sheet.js";
import { Strip } from "../components/strip.js";

export function PartitionView({ place, id }) {
  const [, , topic, partition] = place.parts;
  const base = `/api/logs/${id}/${encodeURIComponent(topic)}/${partition}`;
  const { filter = "", from = "", to = "", row: at = "0" } = place.query;
  const { found: strip, failure } = useAnswer(`${from} ${to}`, () => get(`${base}/strip`, { from, to }));
  const { found: problems } = useAnswer("", () => get(`${base}/problems`));
  const cursor = Number(at);
  const list = useWindows(`${base} ${filter}`, (start, count) => get(`${base}/batches`, { filter, start, count }));
  if (failure) return html`<${Failed} error=${failure} title="This partition cannot be shown" />`;
  if (!strip) return html`<${Loading} what="Reading the batches" />`;
  const batch = list.row(cursor);
  const { total, matched = 0 } = list.answer ?? {};
  const columns = [
    ["offsets", [120, 1.4], (r) => html`<a tabindex="-1" href=${link(["bytes", id, r[0]])}>${r[1]}${r[1] === r[2] ? "" : ` – ${r[2]}`}</a>`],
    ["records", 80, (r) => (r[3] < 0 ? "" : number(r[3])), { right: true }],
    ["size", 84, "bytes:4"],
    ["codec", 72, "text:5"],
    ["latest record", 184, "moment:6"],
    ["producer", [80, 1], "text:7"],
    ["sequence", 92, "text:8", { right: true }],
    ["kind", 110, (r) => (r[11] ? r[10] : "damaged"), { name: "state" }],
  ];
  const find = async (text) => (/^\d+$/.test(text) ? (await get(`${base}/batches`, { filter, offset: text, count: 0 })).place : undefined);
  return html`<div class="tools"><h1>${topic}-${partition}</h1><${FilterBox} label="Filter batches" value=${filter} failure=${list.failure} placeholder="codec = zstd and records > 100   /" onChange=${(text) => refine({ filter: text, row: "" })} />
      <span class="soft" role="status">${list.answer ? `${number(matched)}${matched === total ? "" : ` of ${number(total)}`} batches` : ""}</span>
      ${(from || to) && html`<button class="chip" onClick=${() => refine({ from: "", to: "" })}>whole partition ✕</button>`}
      ${problems?.total > 0 && html`<span title=${problems.rows.map((each) => each.problem).join("\n")}><${Chip} tone="error">${counted(problems.total, "wrong entry", "wrong entries")}<//></span>`}
      <a class="button" href=${link([id, "stats", topic, partition])}>Verify and measure</a></div>
    <${Strip} data=${strip} picked=${cursor} onPick=${(mark) => refine({ row: mark[7], filter: "" })} onZoom=${(low, high) => refine({ from: low, to: high })} />
    ${strip.segments.filter((each) => each.fault).map((each) => html`<div class="notice error">Segment ${each.base}: ${each.fault}</div>`)}
    ${list.answer && !matched ? html`<${Empty} title=${total ? "No batch fits the filter" : "This partition is empty"}>${total ? html`<button onClick=${() => refine({ filter: "" })}>Show all</button>` : "Its files have no batches."}<//>`
      : html`<div class="halves"><div><${Grid} label="Batches" columns=${columns} count=${matched} rowOf=${list.row} cursor=${cursor} onCursor=${(row) => refine({ row })} goes="Offset" find=${find}
          onOpen=${(index) => { const one = list.row(index); if (one) go(link(["bytes", id, one[0]])); }} rowClass=${(r) => (r[11] ? "" : "bad")} /></div>
        <div>${batch && html`<${Records} id=${id} batch=${batch[0]} />`}</div></div>`}`;
}

function Records({ id, batch }) {
  const [cursor, setCursor] = useState(0);
  const { answer, failure, row } = useWindows(batch, (start, count) => get(`/api/logs/${id}/records`, { batch, start, count }));
  useEffect(() => setCursor(0), [batch]);
  const columns = [["offset", 100, "text:0"], ["key", [80, 1], "text:2", { name: "mono" }], ["value", [140, 3], "text:3", { name: "mono" }]];
  if (failure) return html`<${Failed} error=${failure} title="These records cannot be read" ><a class="button" href=${link(["bytes", id, batch])}>Show the bytes</a><//>`;
  const total = answer?.total ?? 0;
  return html`<div class="tools"><h2>${counted(total, "record")}</h2><span class="grow"></span><a class="button" href=${link(["bytes", id, batch])}>Bytes of the batch</a></div>
    <${Grid} label="Records" id="record" focused=${false} columns=${columns} count=${total} rowOf=${row} cursor=${cursor} onCursor=${setCursor} onOpen=${() => go(link(["bytes", id, batch], { node: `[0].records[${cursor}]` }))} />`;
}
