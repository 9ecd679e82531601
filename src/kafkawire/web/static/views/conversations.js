// Connections: one lane each, from its first to its last packet, with gaps and how it was closed.
import { bytes, duration, get, go, html, link, moment } from "../lib.js";
import { List } from "../components/list.js";

export function ConversationsView({ place, id }) {
  const columns = ({ span, gaps = [] }) => {
    const [from, to] = (span ?? ["0", "1"]).map(BigInt);
    const part = (time) => (Number(BigInt(time ?? from) - from) / Math.max(1, Number(to - from))) * 100;
    const lane = (r) => html`<div class="lane" aria-hidden="true">
      <i class=${r.kind === "kafka" ? "" : "other"} style=${{ left: `${part(r.t_first)}%`, width: `${Math.max(0.2, part(r.t_last) - part(r.t_first))}%` }}></i>
      ${gaps.filter((each) => each.conn_id === r.conn_id && each.t !== null).map((each) => html`<i class="gap" style=${{ left: `${part(each.t)}%` }} title=${`${each.bytes} bytes ${each.reason}`}></i>`)}
      ${r.t_close && html`<i class=${`end ${r.close_kind}`} style=${{ left: `${part(r.t_close)}%` }}></i>`}</div>`;
    return [
      ["number", 72, "text:conn_id"],
      ["client", [130, 1], "text:client"],
      ["broker", [130, 1], "text:server", { wide: true }],
      ["kind", 80, "text:kind", { wide: true }],
      [`${moment(from, "time")} – ${moment(to, "time")}`, [150, 3], lane],
      ["length", 92, (r) => duration(Number(BigInt(r.t_last ?? 0) - BigInt(r.t_first ?? 0))), { right: true, wide: true }],
      ["sent, received", 150, (r) => `${bytes(r.bytes_c)}, ${bytes(r.bytes_s)}`, { right: true }],
      ["closed", 150, (r) => (r.closed_by ? `by the ${r.closed_by}${r.close_kind === "rst" ? ", reset" : ""}${r.pending ? `, ${r.pending} pending` : ""}` : "open at the end")],
      ["gaps", 110, (r) => (r.missing_bytes ? `${bytes(r.missing_bytes)} missing` : r.retrans ? `${r.retrans} resent` : ""), { right: true }],
    ];
  };
  return html`<${List} place=${place} id=${id} label="Connections" noun="connection" columns=${columns} failed="The connections cannot be listed"
    title=${html`<h1>Connections</h1><span class="soft wide">Enter shows the exchanges of a connection. A red line is a reset, hatching is a gap of the capture.</span>`}
    load=${(start, count) => get(`/api/exchanges/${id}/connections`, { start, count })} open=${(one) => go(link([id, "exchanges"], { filter: `connection = ${one.conn_id}` }))}
    nothing=${["There are no connections", "The capture has no TCP packets, or none of the chosen ports."]} />`;
}
