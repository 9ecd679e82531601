// One group: its members, what is assigned to them, and its lag. Offsets are moved after a look at the table.
import { Answered, get, html, link, number, post, useAnswer, useState } from "../lib.js";
import { Card, Chip, Facts, Sheet, Table } from "../components/sheet.js";

export function GroupView({ place, about, id }) {
  const path = `/api/brokers/${id}/groups/${encodeURIComponent(place.parts[2])}`;
  const answer = useAnswer(path, () => get(path));
  const [plan, setPlan] = useState(null);
  const [wrong, setWrong] = useState("");
  const move = async (to, execute = false) => {
    try {
      setPlan({ to, ...await post(`${path}/offsets`, { to, execute }) });
      setWrong("");
      if (execute) answer.again();
    } catch (error) { setWrong(error.message); }
  };
  const owner = (name) => name ?? html`<span class="soft">nobody</span>`;
  const member = (each) => [each.client, each.host, html`<code>${each.instance ?? each.member}</code>${each.epoch !== null ? html` <span class="soft">epoch ${each.epoch}</span>` : ""}`,
    html`${each.assigned.join(", ")}${each.target && each.target.join() !== each.assigned.join() ? html` <${Chip} tone="warning">target ${each.target.join(", ") || "none"}<//>` : ""}`];
  return html`<${Answered} answer=${answer} what="Asking the coordinator" title="This group cannot be described">${(found) => html`<${Sheet}>
    <div class="tools flat"><h1 class="title">${found.name}</h1><${Chip}>${found.type}<//><${Chip}>${found.state}<//><span class="grow"></span><button onClick=${answer.again}>Again</button>
      ${about.write && found.type !== "share" && found.offsets.length > 0 && html`<button onClick=${() => move("earliest")}>To the start…</button><button onClick=${() => move("latest")}>To the end…</button>`}</div>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <${Facts} facts=${[["lag", number(found.offsets.reduce((sum, each) => sum + (each.lag ?? 0), 0))], ["members", found.members.length], ["assignor", found.strategy || "none"], ["coordinator", found.coordinator], ["epoch", found.epoch]]} />
    ${plan && html`<section class="card"><div class="tools flat"><h2>${plan.executed ? "Moved" : `Offsets to the ${plan.to === "latest" ? "end" : "start"}`}</h2><span class="grow"></span>${!plan.executed && html`<button class="main" onClick=${() => move(plan.to, true)}>Set these offsets</button>`}<button onClick=${() => setPlan(null)}>Close</button></div>
      <${Table} heads=${["partition", ">before", ">after"]} rows=${plan.rows.map((each) => [`${each.topic}-${each.partition}`, each.before, each.after])} /></section>`}
    <${Card} title="Offsets"><${Table} heads=${["partition", ">offset", ">end", ">lag", "assigned to"]} empty="The group has committed nothing, and nothing is assigned."
      rows=${found.offsets.map((each) => [html`<a href=${link([id, "topic", each.topic], { partition: each.partition, from: each.offset })}>${each.topic}-${each.partition}</a>`, each.offset ?? "none", each.end, each.lag === null ? "" : number(each.lag), owner(each.owner)])} /><//>
    <${Card} title="Members"><${Table} heads=${["client", "host", "member", "assigned"]} rows=${found.members.map(member)} empty="The group has no members now." /><//>
  <//>`}<//>`;
}
