// The protocol: every API, version and error code, and a sample of each request to look at.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { go, link, refine } from "/static/app/router.js";
import { protocol } from "/static/app/protocol.js";
import { Empty, Failed, Loading } from "/static/components/states.js";

/** @param {{place: import("/static/app/router.js").Place}} props */
export function ProtocolView({ place }) {
  const [known, setKnown] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  useEffect(() => { protocol().then(setKnown, setFailure); }, []);
  if (failure) return html`<${Failed} error=${failure} title="The protocol cannot be listed" />`;
  if (!known) return html`<${Loading} what="Reading the schemas" />`;
  const search = (place.query.q ?? "").toLowerCase();
  const fits = (/** @type {any[]} */ ...texts) => texts.some((text) => String(text).toLowerCase().includes(search));
  const apis = known.apis.filter((each) => fits(each.name, each.key));
  const errors = known.errors.filter((each) => fits(each.name, each.code, each.text));
  if (place.parts[1]) return html`<${Message} name=${place.parts[1]} query=${place.query} />`;
  return html`<div tabindex="0" class="scrolls"><div class="sheet">
    <div class="tools flat"><h1>Protocol</h1><span class="grow"></span><input type="search" data-filter aria-label="Search APIs and errors" placeholder="Search APIs and errors  /" value=${place.query.q ?? ""} onInput=${(event) => refine({ q: event.target.value })} /></div>
    ${!apis.length && !errors.length && html`<${Empty} title="Nothing has this name">Try a part of the name of an API or an error, or a number.<//>`}
    ${apis.length > 0 && html`<section class="card"><h2>APIs</h2><table class="plain"><thead><tr><th class="right">key</th><th>name</th><th>versions</th><th></th></tr></thead><tbody>
      ${apis.map((each) => html`<tr key=${each.key}><td class="right">${each.key}</td><td>${each.name}</td><td>${each.request[0]}–${each.request[1]}</td>
        <td><a href=${link(["protocol", `${each.name}Request`])}>request</a> · <a href=${link(["protocol", `${each.name}Response`])}>response</a></td></tr>`)}</tbody></table></section>`}
    ${errors.length > 0 && html`<section class="card"><h2>Errors</h2><table class="plain"><thead><tr><th class="right">code</th><th>name</th><th>retriable</th><th>meaning</th></tr></thead><tbody>
      ${errors.map((each) => html`<tr key=${each.code}><td class="right">${each.code}</td><td><code>${each.name}</code></td><td>${each.retriable ? "yes" : ""}</td><td>${each.text}</td></tr>`)}</tbody></table></section>`}
  </div></div>`;
}

function Message({ name, query }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  useEffect(() => { setFailure(null); get(`/api/protocol/${encodeURIComponent(name)}`, { version: query.version, since: query.since }).then(setShown, setFailure); }, [name, query.version, query.since]);
  if (failure) return html`<${Failed} error=${failure} title="There is no such message"><a class="button" href="#/protocol">All messages</a><//>`;
  if (!shown) return html`<${Loading} what="Reading the schema" />`;
  const [first, last] = shown.versions;
  const versions = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const sample = async () => {
    const { hex } = await get(`/api/protocol/${name.replace(/Request$/, "")}/sample`, { version: shown.version });
    go(link(["bytes"], { hex }));
  };
  return html`<div tabindex="0" class="scrolls"><div class="sheet">
    <div class="tools flat"><a href="#/protocol">Protocol</a><h1>${shown.name}</h1><span class="grow"></span>
      <select aria-label="Version" value=${shown.version} onChange=${(event) => refine({ version: event.target.value })}>${versions.map((each) => html`<option key=${each} value=${each}>v${each}</option>`)}</select>
      <select aria-label="Compare with" value=${query.since ?? ""} onChange=${(event) => refine({ since: event.target.value })}><option value="">compare with…</option>${versions.filter((each) => each !== shown.version).map((each) => html`<option key=${each} value=${each}>v${each}</option>`)}</select>
      ${name.endsWith("Request") && html`<button onClick=${sample}>Show a sample</button>`}</div>
    ${shown.changes && html`<section class="card"><h2>From v${query.since} to v${shown.version}</h2>${shown.changes.length ? html`<table class="plain"><tbody>${shown.changes.map((each) => html`<tr><td><span class=${`chip ${{ added: "good", removed: "error" }[each.kind] ?? "warning"}`}>${each.kind}</span></td><td><code>${each.path}</code></td><td class="soft">${[each.before, each.after].filter(Boolean).join(" → ")}</td></tr>`)}</tbody></table>` : html`<p class="soft">Nothing differs on the wire.</p>`}</section>`}
    <section class="card"><table class="plain"><thead><tr><th>field</th><th>type</th><th>versions</th><th>meaning</th></tr></thead><tbody>
      ${shown.fields.map((each) => html`<tr key=${each.path}><td><code class="indented" style=${{ "--depth": each.depth }}>${each.name}</code></td><td><code>${each.type}</code>${each.tag !== null ? html` <span class="chip">tag ${each.tag}</span>` : ""}</td><td>${each.versions}</td><td>${each.text}${each.default !== null ? html` <span class="soft">Default ${each.default}.</span>` : ""}</td></tr>`)}
    </tbody></table>${!shown.fields.length && html`<p class="soft">This version has no fields.</p>`}</section>
  </div></div>`;
}
