// A topic: its messages, its partitions and its configs.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { counted, number } from "/static/app/format.js";
import { link, refine } from "/static/app/router.js";
import { Failed, Loading } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";
import { Messages } from "/static/views/topic/messages.js";
import { DeleteDialog, ProduceDialog } from "/static/views/topic/writes.js";

const PARTS = { "": "Messages", partitions: "Partitions", configs: "Configs" };

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function TopicView({ place, about }) {
  const [id, , name] = place.parts;
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [dialog, setDialog] = useState("");
  const part = place.query.part ?? "";
  useEffect(() => { get(`/api/brokers/${id}/topics/${encodeURIComponent(name)}`).then(setFound, setFailure); }, [id, name, part]);
  const tools = html`<div class="tools"><h1 class="title">${name}</h1><span class="soft wide">${found ? counted(found.partitions.length, "partition") : ""}</span><span class="grow"></span>
    ${Object.entries(PARTS).map(([key, title]) => html`<button key=${key} aria-pressed=${part === key} onClick=${() => refine({ part: key })}>${title}</button>`)}
    ${about.write && html`<button onClick=${() => setDialog("produce")}>Produce…</button><button onClick=${() => setDialog("delete")}>Delete…</button>`}</div>`;
  const body = failure ? html`<${Failed} error=${failure} title="This topic cannot be described"><a class="button" href=${link([id, "topics"])}>All topics</a><//>`
    : !found ? html`<${Loading} what="Asking the broker" />`
    : part === "partitions" ? html`<div tabindex="0" class="scrolls"><div class="sheet"><section class="card"><table class="plain"><thead><tr><th class="right">partition</th><th class="right">first offset</th><th class="right">end offset</th><th class="right">offsets</th><th>leader</th><th>replicas</th><th>in sync</th></tr></thead><tbody>
        ${found.partitions.map((each) => html`<tr key=${each.partition}><td class="right">${each.partition}</td><td class="right">${each.first}</td><td class="right">${each.last}</td><td class="right">${number(Number(BigInt(each.last ?? 0) - BigInt(each.first ?? 0)))}</td><td>${each.leader < 0 ? html`<span class="chip error">none</span>` : each.leader}</td><td>${each.replicas.join(", ")}</td><td>${each.isr.join(", ")}</td></tr>`)}</tbody></table></section></div></div>`
    : part === "configs" ? html`<${Configs} configs=${found.configs} />`
    : html`<${Messages} id=${id} name=${name} place=${place} partitions=${found.partitions} about=${about} />`;
  return html`<${Tabs} source=${source} current="topics" />${tools}${body}
    ${dialog === "produce" && html`<${ProduceDialog} id=${id} topic=${name} onClose=${() => setDialog("")} />`}
    ${dialog === "delete" && html`<${DeleteDialog} id=${id} topic=${name} onClose=${() => setDialog("")} />`}`;
}

const Configs = ({ configs }) => html`<div tabindex="0" class="scrolls"><div class="sheet">
  ${[["Set here", configs.filter((each) => !each.default)], ["Defaults", configs.filter((each) => each.default)]].map(([title, rows]) => html`<section class="card" key=${title}><h2>${title}</h2>
    ${rows.length ? html`<table class="plain"><thead><tr><th>config</th><th>value</th><th>from</th></tr></thead><tbody>${rows.map((each) => html`<tr key=${each.name}><td title=${each.text ?? ""}><code>${each.name}</code></td><td><code>${each.value ?? "hidden"}</code></td><td class="soft">${each.source}</td></tr>`)}</tbody></table>`
      : html`<p class="soft">Every config has its default.</p>`}</section>`)}</div></div>`;
