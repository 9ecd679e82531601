// The groups of a broker, of every type, and one group with its members and its lag.
import { html, useCallback, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get, post } from "/static/app/api.js";
import { counted, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Grid, useWindows } from "/static/components/grid.js";
import { Empty, Failed, Loading } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function GroupsView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const { filter = "", row: at = "0" } = place.query;
  const key = JSON.stringify([id, filter]);
  const list = useWindows(key, useCallback((start, count) => get(`/api/brokers/${id}/groups`, { filter, start, count }), [key]));
  if (place.parts[1] === "group") return html`<${Tabs} source=${source} current="groups" /><${Group} id=${id} name=${place.parts[2]} about=${about} />`;
  const count = list.answer?.matched ?? 0;
  const columns = [
    { key: "name", title: "group", width: "minmax(200px, 3fr)", show: (/** @type {any} */ r) => html`<a tabindex="-1" href=${link([id, "group", r.name])}>${r.name}</a>` },
    { key: "type", title: "type", width: "110px", show: (/** @type {any} */ r) => r.type },
    { key: "state", title: "state", width: "160px", show: (/** @type {any} */ r) => html`<span class=${`chip ${r.state === "Stable" ? "good" : r.state === "Empty" || r.state === "Dead" ? "" : "warning"}`}>${r.state}</span>` },
    { key: "protocol", title: "protocol", width: "minmax(100px, 1fr)", show: (/** @type {any} */ r) => r.protocol },
  ];
  return html`<${Tabs} source=${source} current="groups" />
    <div class="tools"><${FilterBox} label="Filter groups" value=${filter} placeholder="name of a group   /" onChange=${(text) => refine({ filter: text, row: "" })} /><span class="soft" role="status">${list.answer ? counted(count, "group") : ""}</span></div>
    ${list.failure ? html`<${Failed} error=${list.failure} title="The broker does not answer" />`
      : list.answer && !count ? html`<${Empty} title=${list.answer.total ? "No group has this name" : "There are no groups"}>Consumers with a group id make one.<//>`
      : html`<${Grid} label="Groups" columns=${columns} least="620px" count=${count} rowOf=${list.row} cursor=${Number(at)} onCursor=${(row) => refine({ row })} onOpen=${(index) => { const one = list.row(index); if (one) go(link([id, "group", one.name])); }} />`}`;
}

function Group({ id, name, about }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const path = `/api/brokers/${id}/groups/${encodeURIComponent(name)}`;
  const load = () => get(path).then((one) => { setFound(one); setFailure(null); }, setFailure);
  useEffect(() => { load(); }, [path]);
  if (failure && !found) return html`<${Failed} error=${failure} title="This group cannot be described"><button onClick=${load}>Try again</button><//>`;
  if (!found) return html`<${Loading} what="Asking the coordinator" />`;
  const lag = found.offsets.reduce((sum, each) => sum + (each.lag ?? 0), 0);
  const move = async (/** @type {string} */ to, execute = false) => {
    try { const done = await post(`${path}/offsets`, { to, execute }); setPlan({ to, ...done }); if (execute) load(); } catch (error) { setFailure(error); }
  };
  return html`<div tabindex="0" class="scrolls"><div class="sheet">
    <div class="tools flat"><h1 class="title">${found.name}</h1><span class="chip">${found.type}</span><span class=${`chip ${found.state === "Stable" ? "good" : ""}`}>${found.state}</span><span class="grow"></span><button onClick=${load}>Again</button>
      ${about.write && found.type !== "share" && found.offsets.length > 0 && html`<button onClick=${() => move("earliest")}>To the start…</button><button onClick=${() => move("latest")}>To the end…</button>`}</div>
    ${failure && html`<p class="wrong" role="alert">${failure.message}</p>`}
    <dl class="facts"><div><dt>lag</dt><dd>${number(lag)}</dd></div><div><dt>members</dt><dd>${found.members.length}</dd></div><div><dt>assignor</dt><dd>${found.strategy || "none"}</dd></div><div><dt>coordinator</dt><dd>${found.coordinator}</dd></div>${found.epoch !== null && html`<div><dt>epoch</dt><dd>${found.epoch}</dd></div>`}</dl>
    ${plan && html`<section class="card"><div class="tools flat"><h2>${plan.executed ? "Moved" : `Offsets to the ${plan.to === "latest" ? "end" : "start"}`}</h2><span class="grow"></span>${!plan.executed && html`<button class="main" onClick=${() => move(plan.to, true)}>Set these offsets</button>`}<button onClick=${() => setPlan(null)}>Close</button></div>
      <table class="plain"><thead><tr><th>partition</th><th class="right">before</th><th class="right">after</th></tr></thead><tbody>${plan.rows.map((each) => html`<tr><td>${each.topic}-${each.partition}</td><td class="right">${each.before}</td><td class="right">${each.after}</td></tr>`)}</tbody></table></section>`}
    <section class="card"><h2>Offsets</h2>${found.offsets.length ? html`<table class="plain"><thead><tr><th>partition</th><th class="right">offset</th><th class="right">end</th><th class="right">lag</th><th>assigned to</th></tr></thead><tbody>
      ${found.offsets.map((each) => html`<tr key=${`${each.topic}-${each.partition}`}><td><a href=${link([id, "topic", each.topic], { partition: each.partition, from: each.offset ?? "" })}>${each.topic}-${each.partition}</a></td><td class="right">${each.offset ?? "none"}</td><td class="right">${each.end ?? ""}</td><td class="right">${each.lag === null ? "" : number(each.lag)}</td><td>${each.owner ?? html`<span class="soft">nobody</span>`}</td></tr>`)}</tbody></table>` : html`<p class="soft">The group has committed nothing, and nothing is assigned.</p>`}</section>
    <section class="card"><h2>Members</h2>${found.members.length ? html`<table class="plain"><thead><tr><th>client</th><th>host</th><th>member</th><th>assigned</th></tr></thead><tbody>
      ${found.members.map((each) => html`<tr key=${each.member}><td>${each.client}</td><td>${each.host}</td><td><code>${each.instance ?? each.member}</code>${each.epoch !== null ? html` <span class="soft">epoch ${each.epoch}</span>` : ""}</td><td>${each.assigned.join(", ")}${each.target && each.target.join() !== each.assigned.join() ? html` <span class="chip warning">target ${each.target.join(", ") || "none"}</span>` : ""}</td></tr>`)}</tbody></table>` : html`<p class="soft">The group has no members now.</p>`}</section>
  </div></div>`;
}
