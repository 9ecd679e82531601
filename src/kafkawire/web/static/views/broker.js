// The topics of a broker: names first, the numbers of the rows in sight.
import { html, useCallback, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { get, post } from "/static/app/api.js";
import { number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { Dialog } from "/static/components/dialog.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Grid, useWindows } from "/static/components/grid.js";
import { Empty, Failed } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

const PAUSE = 120;

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function BrokerView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const { filter = "", internal = "", row: at = "0" } = place.query;
  const [again, setAgain] = useState(0);
  const [making, setMaking] = useState(false);
  const key = JSON.stringify([id, filter, internal, again]);
  const list = useWindows(key, useCallback((start, count) => get(`/api/brokers/${id}/topics`, { filter, internal, start, count }), [key]));
  const [counts, setCounts] = useState(/** @type {Record<string, any>} */ ({}));
  const wanted = useRef(new Set());
  const timer = useRef(0);
  useEffect(() => { setCounts({}); wanted.current.clear(); }, [id, again]);
  const want = (/** @type {string} */ name) => {
    if (counts[name] || wanted.current.has(name)) return;
    wanted.current.add(name);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const names = [...wanted.current].filter((each) => !counts[each]).slice(-60);
      post(`/api/brokers/${id}/counts`, { topics: names }).then((found) => setCounts((before) => ({ ...before, ...found })), () => names.forEach((each) => wanted.current.delete(each)));
    }, PAUSE);
  };
  const count = list.answer?.matched ?? 0;
  const columns = [
    { key: "name", title: "topic", width: "minmax(200px, 3fr)", show: (/** @type {any} */ r) => html`<a tabindex="-1" href=${link([id, "topic", r.name])}>${r.name}</a>${r.internal ? html` <span class="chip">internal</span>` : ""}` },
    { key: "partitions", title: "partitions", width: "110px", right: true, show: (/** @type {any} */ r) => number(r.partitions) },
    { key: "replicas", title: "replicas", width: "100px", right: true, show: (/** @type {any} */ r) => r.replicas },
    { key: "records", title: "offsets", width: "140px", right: true, show: (/** @type {any} */ r) => { want(r.name); const found = counts[r.name]; return found ? (found.error ? html`<span class="wrong" title=${found.error}>unknown</span>` : number(found.records)) : html`<span class="soft">…</span>`; } },
    { key: "state", title: "state", width: "minmax(140px, 1fr)", show: (/** @type {any} */ r) => (r.trouble ? html`<span class="chip warning">${r.trouble} under-replicated</span>` : html`<span class="soft">all in sync</span>`) },
  ];
  const open = (/** @type {number} */ index) => { const one = list.row(index); if (one) go(link([id, "topic", one.name])); };
  return html`<${Tabs} source=${source} current="topics" />
    <div class="tools"><${FilterBox} label="Filter topics" value=${filter} placeholder="name of a topic   /" onChange=${(text) => refine({ filter: text, row: "" })} />
      <span class="soft" role="status">${list.answer ? `${number(count)}${count === list.answer.total ? "" : ` of ${number(list.answer.total)}`} topics` : ""}</span>
      <button aria-pressed=${internal === "1"} onClick=${() => refine({ internal: internal ? "" : 1 })}>Internal</button>
      ${about.write && html`<button onClick=${() => setMaking(true)}>Create…</button>`}</div>
    ${list.failure ? html`<${Failed} error=${list.failure} title="The broker does not answer"><button onClick=${() => setAgain(again + 1)}>Try again</button><//>`
      : list.answer && !count ? html`<${Empty} title=${list.answer.total ? "No topic has this name" : "There are no topics"}>${list.answer.total ? html`<button onClick=${() => refine({ filter: "", internal: 1 })}>Show all</button>` : "A producer or `kafkawire topics create` makes one."}<//>`
      : html`<${Grid} label="Topics" columns=${columns} least="700px" count=${count} rowOf=${list.row} cursor=${Number(at)} onCursor=${(row) => refine({ row })} onOpen=${open} />`}
    ${making && html`<${CreateDialog} id=${id} onClose=${() => { setMaking(false); setAgain(again + 1); }} />`}`;
}

function CreateDialog({ id, onClose }) {
  const [wrong, setWrong] = useState("");
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    try {
      await post(`/api/brokers/${id}/topics`, { name: form.get("name"), partitions: Number(form.get("partitions")) || -1 });
      onClose();
    } catch (error) { setWrong(/** @type {Error} */ (error).message); }
  };
  return html`<${Dialog} title="Create a topic" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field">Name<input name="name" required autofocus /></label>
    <label class="field">Partitions<input name="partitions" type="number" min="1" placeholder="default of the broker" /></label>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="end"><button type="button" onClick=${onClose}>Cancel</button><button class="main">Create</button></div></form><//>`;
}
