// What the page itself sent to the broker, each request with its frames.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { bytes, counted, duration, moment } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { Grid } from "/static/components/grid.js";
import { Empty, Failed } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function SentView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const load = () => get(`/api/brokers/${id}/sent`).then(setFound, setFailure);
  useEffect(() => { load(); }, [id]);
  const columns = [
    { key: "time", title: "time", width: "120px", show: (/** @type {any} */ r) => moment(r.time, "time") },
    { key: "api", title: "API", width: "minmax(160px, 2fr)", show: (/** @type {any} */ r) => html`<a tabindex="-1" href=${link(["bytes", id, "sent", r.number])}>${r.api}</a> <span class="soft">v${r.version}</span>` },
    { key: "place", title: "broker", width: "minmax(130px, 1fr)", show: (/** @type {any} */ r) => r.place },
    { key: "request", title: "request", width: "90px", right: true, show: (/** @type {any} */ r) => bytes(r.request) },
    { key: "response", title: "response", width: "90px", right: true, show: (/** @type {any} */ r) => bytes(r.response) },
    { key: "wait", title: "wait", width: "100px", right: true, show: (/** @type {any} */ r) => duration(r.wait) },
    { key: "error", title: "error", width: "minmax(140px, 2fr)", name: "state", show: (/** @type {any} */ r) => r.error ?? "" },
  ];
  return html`<${Tabs} source=${source} current="sent" /><div class="tools"><h1>${counted(found?.total ?? 0, "request")} of this page</h1><span class="grow"></span><button onClick=${load}>Again</button></div>
    ${failure ? html`<${Failed} error=${failure} title="The list is not there" />` : found && !found.total ? html`<${Empty} title="The page has sent nothing yet">Open the topics, and look here again.<//>`
      : html`<${Grid} label="Requests of this page" columns=${columns} least="760px" count=${found?.total ?? 0} rowOf=${(index) => found?.rows[index]} cursor=${Number(place.query.row ?? 0)} rowClass=${(r) => (r.error ? "bad" : "")} onCursor=${(row) => refine({ row })} onOpen=${(index) => go(link(["bytes", id, "sent", found.rows[index].number]))} />`}`;
}
