// The partitions of log directories.
import { bytes, get, go, html, link, number, useState } from "../lib.js";
import { List } from "../components/list.js";
import { Chip } from "../components/sheet.js";

const PAUSE = 300;

export function LogsView({ place, id }) {
  const [reading, setReading] = useState("");
  const load = async (start, count) => {
    for (;;) {
      const found = await get(`/api/logs/${id}`, { filter: place.query.filter, start, count });
      setReading(found.ready ? "" : `verifying, ${bytes(found.done)} of ${bytes(found.total)}`);
      if (found.ready) return found;
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  };
  const columns = [
    ["partition", [180, 2], (r) => html`<a tabindex="-1" href=${link([id, "partition", r.topic, r.partition])}>${r.topic}-${r.partition}</a>`],
    ["size", 100, "bytes:size"],
    ["segments", 90, "number:segments"],
    ["batches", 100, "number:batches"],
    ["records", 110, (r) => (r.records === null ? "" : number(r.records)), { right: true }],
    ["offsets", [130, 1], (r) => (r.first === null ? "empty" : `${r.first} – ${r.last}`), { right: true }],
    ["latest record", 190, "moment:latest"],
    ["files", [110, 1], (r) => (r.faults ? html`<${Chip} tone=${r.state === "damaged" ? "error" : "warning"}>${r.faults} ${r.state}<//>` : html`<span class="soft">sound</span>`)],
  ];
  return html`<${List} place=${place} id=${id} label="Partitions" noun="partition" filtered columns=${columns} load=${load} open=${(one) => go(link([id, "partition", one.topic, one.partition]))}
    tools=${() => html`<span class="soft" role="status">${reading}</span><a class="button" href=${link([id, "stats"])}>Verify and measure</a>`}
    failed="The directories cannot be read" nothing=${["There are no partitions", "A partition is a directory such as orders-0 with files such as 00000000000000000000.log."]} />`;
}
