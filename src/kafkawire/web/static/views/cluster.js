// The brokers of a cluster and their log directories.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { bytes, number } from "/static/app/format.js";
import { Failed, Loading } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function ClusterView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  useEffect(() => { get(`/api/brokers/${id}/cluster`).then(setFound, setFailure); }, [id]);
  return html`<${Tabs} source=${source} current="cluster" />${failure ? html`<${Failed} error=${failure} title="The broker does not answer" />` : !found ? html`<${Loading} what="Asking the broker" />` : html`<div tabindex="0" class="scrolls"><div class="sheet">
    <h1>Cluster ${found.cluster ?? ""}</h1>
    <section class="card"><h2>Brokers</h2><table class="plain"><thead><tr><th>id</th><th>address</th><th>rack</th><th></th></tr></thead><tbody>${found.nodes.map((each) => html`<tr><td>${each.id}</td><td>${each.host}:${each.port}</td><td>${each.rack ?? ""}</td><td>${each.id === found.controller ? html`<span class="chip info">controller</span>` : ""}</td></tr>`)}</tbody></table></section>
    <section class="card"><h2>Log directories</h2>${found.folders.length ? html`<table class="plain"><thead><tr><th>broker</th><th>directory</th><th class="right">partitions</th><th class="right">size</th></tr></thead><tbody>${found.folders.map((each) => html`<tr><td>${each.node}</td><td><code>${each.path}</code></td><td class="right">${number(each.partitions)}</td><td class="right">${bytes(each.size)}</td></tr>`)}</tbody></table>` : html`<p class="soft">The brokers do not say.</p>`}</section>
  </div></div>`}`;
}
