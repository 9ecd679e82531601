// The topics of a broker: names first, the numbers of the rows in sight.
import { get, go, html, link, number, post, refine, useEffect, useRef, useState } from "../lib.js";
import { FormDialog } from "../components/dialog.js";
import { List } from "../components/list.js";
import { Chip } from "../components/sheet.js";

const PAUSE = 120;

export function BrokerView({ place, about, id }) {
  const { filter = "", internal = "" } = place.query;
  const [making, setMaking] = useState(null);
  const [counts, setCounts] = useState({});
  const wanted = useRef(new Set());
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const want = (name) => {
    if (counts[name] || wanted.current.has(name)) return;
    wanted.current.add(name);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const names = [...wanted.current].filter((each) => !counts[each]).slice(-60);
      post(`/api/brokers/${id}/counts`, { topics: names }).then((found) => setCounts((before) => ({ ...before, ...found })), () => names.forEach((each) => wanted.current.delete(each)));
    }, PAUSE);
  };
  const records = (r) => {
    want(r.name);
    const found = counts[r.name];
    return !found ? html`<span class="soft">…</span>` : found.error ? html`<span class="wrong" title=${found.error}>unknown</span>` : number(found.records);
  };
  const columns = [
    ["topic", [200, 3], (r) => html`<a tabindex="-1" href=${link([id, "topic", r.name])}>${r.name}</a>${r.internal ? html` <${Chip}>internal<//>` : ""}`],
    ["partitions", 110, "number:partitions"],
    ["replicas", 100, "number:replicas"],
    ["offsets", 140, records, { right: true }],
    ["state", [140, 1], (r) => (r.trouble ? html`<${Chip} tone="warning">${r.trouble} under-replicated<//>` : html`<span class="soft">all in sync</span>`)],
  ];
  const tools = (again) => html`<button aria-pressed=${internal === "1"} onClick=${() => refine({ internal: internal ? "" : 1 })}>Internal</button>
    ${about.write && html`<button onClick=${() => setMaking(() => again)}>Create…</button>`}`;
  return html`<${List} place=${place} id=${id} label="Topics" noun="topic" filtered columns=${columns} extra=${internal} tools=${tools} failed="The broker does not answer"
      load=${(start, count) => get(`/api/brokers/${id}/topics`, { filter, internal, start, count })} open=${(one) => go(link([id, "topic", one.name]))}
      nothing=${["There are no topics", "A producer or `kafkawire topics create` makes one."]} />
    ${making && html`<${FormDialog} title="Create a topic" verb="Create" onClose=${() => { making(); setMaking(null); }}
      onSubmit=${({ name, partitions }) => post(`/api/brokers/${id}/topics`, { name, partitions: Number(partitions) || -1 })}>
      <label class="field">Name<input name="name" required autofocus /></label>
      <label class="field">Partitions<input name="partitions" type="number" min="1" placeholder="default of the broker" /></label><//>`}`;
}
