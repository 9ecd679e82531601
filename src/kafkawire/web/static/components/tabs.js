// The views of a source.
import { html } from "../vendor/preact-htm.js";
import { link } from "../app/router.js";

const VIEWS = {
  capture: { exchanges: "Exchanges", conversations: "Connections", findings: "Findings" },
  logs: { "": "Partitions", findings: "Findings" },
  broker: { topics: "Topics", groups: "Groups", cluster: "Cluster", sent: "Sent by this page" },
};

/** @param {{source: any, current: string}} props */
export const Tabs = ({ source, current }) => html`<nav class="tabs" aria-label="Views">${(source.views ?? Object.entries(VIEWS[source.kind] ?? {}))
  .map(([name, title]) => html`<a key=${name} href=${link(name ? [source.id, name] : [source.id])} aria-current=${name === current ? "page" : undefined}>${title}</a>`)}</nav>`;
