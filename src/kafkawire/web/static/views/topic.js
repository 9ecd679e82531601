// A topic: its messages, its partitions and its configs.
import { Answered, counted, get, go, html, link, number, post, refine, useAnswer, useState } from "../lib.js";
import { FormDialog } from "../components/dialog.js";
import { Card, Chip, Sheet, Table } from "../components/sheet.js";
import { Messages } from "./topic/messages.js";
import { ProduceDialog } from "./topic/produce.js";

const PARTS = { "": "Messages", partitions: "Partitions", configs: "Configs" };

export function TopicView({ place, about, id }) {
  const name = place.parts[2], { part = "" } = place.query;
  const path = `/api/brokers/${id}/topics/${encodeURIComponent(name)}`;
  const answer = useAnswer(path + part, () => get(path));
  const [dialog, setDialog] = useState("");
  const [typed, setTyped] = useState("");
  const close = () => setDialog("");
  const change = (cell) => (about.write ? [cell] : []);
  const remove = async () => { await post(`${path}/delete`, { name: typed }); go(link([id, "topics"])); };
  return html`<div class="tools"><h1 class="title">${name}</h1><span class="soft wide">${answer.found ? counted(answer.found.partitions.length, "partition") : ""}</span><span class="grow"></span>
      ${Object.entries(PARTS).map(([key, title]) => html`<button key=${key} aria-pressed=${part === key} onClick=${() => refine({ part: key })}>${title}</button>`)}
      ${about.write && html`<button onClick=${() => setDialog("produce")}>Produce…</button><button onClick=${() => setDialog("delete")}>Delete…</button>`}</div>
    <${Answered} answer=${answer} what="Asking the broker" title="This topic cannot be described" help=${html`<a class="button" href=${link([id, "topics"])}>All topics</a>`}>${(found) => (
      part === "partitions" ? html`<${Sheet}><${Card}><${Table} heads=${[">partition", ">first offset", ">end offset", ">offsets", "leader", "replicas", "in sync"]} rows=${found.partitions.map((each) => [each.partition, each.first, each.last,
        number(Number(BigInt(each.last ?? 0) - BigInt(each.first ?? 0))), each.leader < 0 ? html`<${Chip} tone="error">none<//>` : each.leader, each.replicas.join(", "), each.isr.join(", ")])} /><//><//>`
      : part === "configs" ? html`<${Sheet}>${[["Set here", false], ["Defaults", true]].map(([title, which]) => html`<${Card} title=${title}><${Table} heads=${["config", "value", "from", ...change("")]} empty="Every config has its default."
        rows=${found.configs.filter((each) => Boolean(each.default) === which).map((each) => [html`<code title=${each.text ?? ""}>${each.name}</code>`, html`<code>${each.value ?? "hidden"}</code>`, each.source,
          ...change(!each.fixed && html`<button onClick=${() => setDialog(each)}>Change…</button>`)])} /><//>`)}<//>`
      : html`<${Messages} id=${id} name=${name} place=${place} partitions=${found.partitions} about=${about} />`)}<//>
    ${dialog === "produce" && html`<${ProduceDialog} id=${id} topic=${name} onClose=${close} />`}
    ${dialog.name && html`<${FormDialog} title=${`Set ${dialog.name}`} verb="Set" onSubmit=${({ value, none }) => post(`${path}/configs`, { name: dialog.name, value: none ? null : value }).then(answer.again)} onClose=${close}>
      <p class="soft">${dialog.text ?? ""}</p><label class="field">Value<input name="value" class="mono" autofocus value=${dialog.value ?? ""} /></label>
      <label><input type="checkbox" name="none" /> back to the default</label><//>`}
    ${dialog === "delete" && html`<${FormDialog} title="Delete this topic and all of its records" verb="Delete" disabled=${typed !== name} onSubmit=${remove} onClose=${close}>
      <label class="field">Type ${name} to confirm<input value=${typed} autofocus onInput=${(event) => setTyped(event.target.value)} /></label><//>`}`;
}
