// The views of a source.
import { html } from "/static/vendor/preact-htm.js";
import { link } from "/static/app/router.js";

const VIEWS = {
  capture: [["exchanges", "Exchanges"], ["conversations", "Connections"], ["findings", "Findings"]],
  logs: [["", "Partitions"], ["findings", "Findings"]],
  broker: [["topics", "Topics"], ["groups", "Groups"], ["cluster", "Cluster"], ["sent", "Sent by this page"]],
};

/** @param {{source: any, current: string, hints?: Record<string, any>}} props */
export const Tabs = ({ source, current, hints = {} }) => html`<nav class="tabs" aria-label="Views">
  ${(source.views ?? VIEWS[source.kind] ?? []).map(([name, title]) => html`<a key=${name} href=${link(name ? [source.id, name] : [source.id])} aria-current=${name === current ? "page" : undefined}>${title}${hints[name] !== undefined ? html` <span class="chip">${hints[name]}</span>` : null}</a>`)}
</nav>`;
