// The protocol: every API, version and error code, and a sample of each request to look at.
import { Answered, Empty, get, go, html, link, refine, useAnswer } from "../lib.js";
import { protocol } from "../app/protocol.js";
import { Card, Chip, Sheet, Table } from "../components/sheet.js";

export function ProtocolView({ place: { parts, query } }) {
  const answer = useAnswer("", protocol);
  if (parts[1]) return html`<${Message} name=${parts[1]} query=${query} />`;
  const search = (query.q ?? "").toLowerCase();
  const fits = (...texts) => texts.some((text) => String(text).toLowerCase().includes(search));
  return html`<${Answered} answer=${answer} what="Reading the schemas" title="The protocol cannot be listed">${(known) => {
    const apis = known.apis.filter((each) => fits(each.name, each.key));
    const errors = known.errors.filter((each) => fits(each.name, each.code, each.text));
    const messages = known.messages.filter((name) => fits(name));
    const message = (name, text) => html`<a href=${link(["protocol", name])}>${text}</a>`;
    return html`<${Sheet}>
      <div class="tools flat"><h1>Protocol</h1><span class="grow"></span><input type="search" data-filter aria-label="Search APIs and errors" placeholder="Search APIs and errors  /" value=${query.q ?? ""} onInput=${(event) => refine({ q: event.target.value })} /></div>
      ${!apis.length && !errors.length && !messages.length && html`<${Empty} title="Nothing has this name">Try a part of the name of an API or an error, or a number.<//>`}
      ${apis.length > 0 && html`<${Card} title="APIs"><${Table} heads=${[">key", "name", "versions", "messages"]} rows=${apis.map((each) => [each.key, each.name, `${each.request[0]}–${each.request[1]}`,
        html`${message(`${each.name}Request`, "request")} · ${message(`${each.name}Response`, "response")}`])} /><//>`}
      ${messages.length > 0 && html`<${Card} title="Other messages"><div class="evidence">${messages.map((name, at) => html`${at ? ", " : ""}${message(name, name)}`)}</div><//>`}
      ${errors.length > 0 && html`<${Card} title="Errors"><${Table} heads=${[">code", "name", "retriable", "meaning"]} rows=${errors.map((each) => [each.code, html`<code>${each.name}</code>`, each.retriable ? "yes" : "", each.text])} /><//>`}
    <//>`;
  }}<//>`;
}

function Message({ name, query: { version, since = "" } }) {
  const path = `/api/protocol/${encodeURIComponent(name)}`;
  const answer = useAnswer(`${name} ${version} ${since}`, () => get(path, { version, since }));
  const sample = async (shown) => {
    const { hex, ...asked } = await get(`${path}/sample`, { version: shown.version });
    go(link(["bytes"], { hex, ...asked }));
  };
  return html`<${Answered} answer=${answer} what="Reading the schema" title="There is no such message" help=${html`<a class="button" href="#/protocol">All messages</a>`}>${(shown) => {
    const versions = Array.from({ length: shown.versions[1] - shown.versions[0] + 1 }, (_, at) => shown.versions[0] + at);
    const option = (each) => html`<option key=${each} value=${each}>v${each}</option>`;
    return html`<${Sheet}>
      <div class="tools flat"><a href="#/protocol">Protocol</a><h1>${shown.name}</h1><span class="grow"></span>
        <select aria-label="Version" value=${shown.version} onChange=${(event) => refine({ version: event.target.value })}>${versions.map(option)}</select>
        <select aria-label="Compare with" value=${since} onChange=${(event) => refine({ since: event.target.value })}><option value="">compare with…</option>${versions.filter((each) => each !== shown.version).map(option)}</select>
        <button onClick=${() => sample(shown)}>Show a sample</button></div>
      ${shown.changes && html`<${Card} title=${`From v${since} to v${shown.version}`}><${Table} empty="Nothing differs on the wire."
        rows=${shown.changes.map((each) => [html`<${Chip}>${each.kind}<//>`, html`<code>${each.path}</code>`, [each.before, each.after].filter(Boolean).join(" → ")])} /><//>`}
      <${Card}><${Table} heads=${["field", "type", "versions", "meaning"]} empty="This version has no fields." rows=${shown.fields.map((each) => [
        html`<code class="indented" style=${{ "--depth": each.depth }}>${each.name}</code>`, html`<code>${each.type}</code>${each.tag !== null ? html` <${Chip}>tag ${each.tag}<//>` : ""}`,
        each.versions, html`${each.text}${each.default !== null ? html` <span class="soft">Default ${each.default}.</span>` : ""}`])} /><//>
    <//>`;
  }}<//>`;
}
