// Connections: one lane each, from its first to its last packet, with gaps and how it was closed.
import { html, useCallback, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { bytes, duration, moment, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { Grid } from "/static/components/grid.js";
import { Empty, Failed, Loading } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function ConversationsView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const cursor = Number(place.query.row ?? 0);
  useEffect(() => { get(`/api/exchanges/${id}/connections`, { count: 2000 }).then(setFound, setFailure); }, [id]);
  const rowOf = useCallback((/** @type {number} */ index) => found?.rows[index], [found]);
  if (failure) return html`<${Failed} error=${failure} title="The connections cannot be listed" />`;
  if (!found) return html`<${Loading} what="Reading connections" />`;
  const [from, to] = found.span ?? ["0", "1"];
  const whole = Math.max(1, Number(BigInt(to) - BigInt(from)));
  const part = (/** @type {string|null} */ time) => (time === null ? 0 : (Number(BigInt(time) - BigInt(from)) / whole) * 100);
  const gaps = Map.groupBy ? Map.groupBy(found.gaps, (each) => each.conn_id) : new Map();
  const lane = (/** @type {any} */ r) => html`<div class="lane" aria-hidden="true">
    <i class=${r.kind === "kafka" ? "" : "other"} style=${{ left: `${part(r.t_first)}%`, width: `${Math.max(0.2, part(r.t_last) - part(r.t_first))}%` }}></i>
    ${(gaps.get(r.conn_id) ?? []).filter((each) => each.t !== null).map((each) => html`<i class="gap" style=${{ left: `${part(each.t)}%` }} title=${`${each.bytes} bytes ${each.reason}`}></i>`)}
    ${r.t_close && html`<i class=${`end ${r.close_kind}`} style=${{ left: `${part(r.t_close)}%` }}></i>`}</div>`;
  const columns = [
    { key: "id", title: "number", width: "72px", show: (/** @type {any} */ r) => r.conn_id },
    { key: "client", title: "client", width: "minmax(150px, 1fr)", show: (/** @type {any} */ r) => r.client },
    { key: "server", title: "broker", width: "minmax(130px, 1fr)", show: (/** @type {any} */ r) => r.server },
    { key: "kind", title: "kind", width: "80px", show: (/** @type {any} */ r) => r.kind },
    { key: "lane", title: `${moment(from, "time")} – ${moment(to, "time")}`, width: "minmax(200px, 3fr)", show: lane },
    { key: "length", title: "length", width: "92px", right: true, show: (/** @type {any} */ r) => duration(Number(BigInt(r.t_last ?? 0) - BigInt(r.t_first ?? 0))) },
    { key: "bytes", title: "sent, received", width: "150px", right: true, show: (/** @type {any} */ r) => `${bytes(r.bytes_c)}, ${bytes(r.bytes_s)}` },
    { key: "close", title: "closed", width: "150px", show: (/** @type {any} */ r) => (r.closed_by ? `by the ${r.closed_by}${r.close_kind === "rst" ? ", reset" : ""}${r.pending ? `, ${r.pending} pending` : ""}` : "open at the end") },
    { key: "gaps", title: "gaps", width: "110px", right: true, show: (/** @type {any} */ r) => (r.missing_bytes ? `${bytes(r.missing_bytes)} missing` : r.retrans ? `${r.retrans} resent` : "") },
  ];
  const open = (/** @type {number} */ index) => go(link([id, "exchanges"], { filter: `connection = ${found.rows[index].conn_id}` }));
  return html`<${Tabs} source=${source} current="conversations" />
    <div class="tools"><h1>${number(found.total)} ${found.total === 1 ? "connection" : "connections"}</h1><span class="soft wide">Enter shows the exchanges of a connection. A red line is a reset, hatching is a gap of the capture.</span></div>
    ${found.total ? html`<${Grid} label="Connections" columns=${columns} least="1180px" count=${found.rows.length} rowOf=${rowOf} cursor=${cursor} onCursor=${(row) => refine({ row })} onOpen=${open} />`
      : html`<${Empty} title="There are no connections">The capture has no TCP packets, or none of the chosen ports.<//>`}`;
}
