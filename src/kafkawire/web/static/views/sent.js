// What the page itself sent to the broker, each request with its frames.
import { get, go, html, link } from "../lib.js";
import { List } from "../components/list.js";

export function SentView({ place, id }) {
  const columns = [
    ["time", 120, "time:time"],
    ["API", [160, 2], (r) => html`<a tabindex="-1" href=${link(["bytes", id, "sent", r.number])}>${r.api}</a> <span class="soft">v${r.version}</span>`],
    ["broker", [130, 1], "text:place"],
    ["request", 90, "bytes:request"],
    ["response", 90, "bytes:response"],
    ["wait", 100, "duration:wait"],
    ["error", [140, 2], "text:error", { name: "state" }],
  ];
  return html`<${List} place=${place} id=${id} label="Requests of this page" noun="request" title=${html`<h1>Sent by this page</h1>`} columns=${columns} failed="The list is not there"
    load=${() => get(`/api/brokers/${id}/sent`)} open=${(one) => go(link(["bytes", id, "sent", one.number]))} rowClass=${(r) => (r.error ? "bad" : "")}
    nothing=${["The page has sent nothing yet", "Open the topics, and look here again."]} />`;
}
