// The partitions of log directories.
import { html, useCallback, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { bytes, counted, moment, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { Grid } from "/static/components/grid.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Empty, Failed } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function LogsView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const cursor = Number(place.query.row ?? 0);
  const filter = place.query.filter ?? "";
  useEffect(() => {
    let timer = 0, over = false;
    const look = () => get(`/api/logs/${id}`).then((answer) => {
      if (over) return;
      setFound(answer);
      if (!answer.ready) timer = setTimeout(look, 300);
    }, setFailure);
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [id]);
  const rows = (found?.rows ?? []).filter((each) => `${each.topic}-${each.partition}`.includes(filter));
  const rowOf = useCallback((/** @type {number} */ index) => rows[index], [found, filter]);
  const columns = [
    { key: "name", title: "partition", width: "minmax(180px, 2fr)", show: (/** @type {any} */ r) => html`<a tabindex="-1" href=${link([id, "partition", r.topic, r.partition])}>${r.topic}-${r.partition}</a>` },
    { key: "size", title: "size", width: "100px", right: true, show: (/** @type {any} */ r) => bytes(r.size) },
    { key: "segments", title: "segments", width: "90px", right: true, show: (/** @type {any} */ r) => number(r.segments) },
    { key: "batches", title: "batches", width: "100px", right: true, show: (/** @type {any} */ r) => number(r.batches) },
    { key: "records", title: "records", width: "110px", right: true, show: (/** @type {any} */ r) => (r.records === null ? "" : number(r.records)) },
    { key: "offsets", title: "offsets", width: "minmax(130px, 1fr)", right: true, show: (/** @type {any} */ r) => (r.first === null ? "empty" : `${r.first} – ${r.last}`) },
    { key: "latest", title: "latest record", width: "190px", show: (/** @type {any} */ r) => moment(r.latest) },
    { key: "state", title: "files", width: "minmax(110px, 1fr)", show: (/** @type {any} */ r) => (r.faults ? html`<span class=${`chip ${r.state === "damaged" ? "error" : "warning"}`}>${r.faults} ${r.state}</span>` : html`<span class="soft">sound</span>`) },
  ];
  const open = (/** @type {number} */ index) => go(link([id, "partition", rows[index].topic, rows[index].partition]));
  return html`<${Tabs} source=${source} current="" />
    <div class="tools"><${FilterBox} label="Filter partitions" value=${filter} placeholder="name of a topic   /" onChange=${(text) => refine({ filter: text, row: "" })} />
      <span class="soft" role="status">${found?.ready ? counted(rows.length, "partition") : found ? `verifying, ${bytes(found.done)} of ${bytes(found.total)}` : ""}</span></div>
    ${failure ? html`<${Failed} error=${failure} title="The directories cannot be read" />`
      : found?.ready && !rows.length ? html`<${Empty} title=${found.total ? "No partition has this name" : "There are no partitions"}>A partition is a directory such as orders-0 with files such as 00000000000000000000.log.<//>`
      : html`<${Grid} label="Partitions" columns=${columns} least="980px" count=${rows.length} rowOf=${rowOf} cursor=${cursor} onCursor=${(row) => refine({ row })} onOpen=${open} />`}`;
}
