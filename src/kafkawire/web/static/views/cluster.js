// The brokers of a cluster, their log directories, and the APIs that they serve.
import { Answered, bytes, get, html, link, number, useAnswer } from "../lib.js";
import { Card, Chip, Sheet, Table } from "../components/sheet.js";

/** @param {{id: string}} props */
export function ClusterView({ id }) {
  const answer = useAnswer(id, () => get(`/api/brokers/${id}/cluster`));
  return html`<${Answered} answer=${answer} what="Asking the broker" title="The broker does not answer">${(found) => html`<${Sheet}><h1>Cluster ${found.cluster ?? ""}</h1>
    <${Card} title="Brokers"><${Table} heads=${["id", "address", "rack", "role"]} rows=${found.nodes.map((each) => [each.id, `${each.host}:${each.port}`, each.rack, each.id === found.controller && html`<${Chip} tone="info">controller<//>`])} /><//>
    <${Card} title="Log directories"><${Table} heads=${["broker", "directory", ">partitions", ">size"]} empty="The brokers do not say."
      rows=${found.folders.map((each) => [each.node, html`<code>${each.path}</code>`, number(each.partitions), bytes(each.size)])} /><//>
    <${Card} title="Served APIs"><${Table} heads=${[">key", "name", "versions"]} rows=${found.apis.map((each) => [each.key,
      each.name ? html`<a href=${link(["protocol", `${each.name}Request`])}>${each.name}</a>` : "unknown", each.versions.join("–")])} /><//><//>`}<//>`;
}
