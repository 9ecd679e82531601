// The field at the cursor: its path as links, its type, the text of the schema, and all of its value.
import { get, html, number, post, useEffect, useState } from "../../lib.js";
import { FormDialog } from "../../components/dialog.js";
import { faultText } from "../../components/tree.js";

import { openText } from "./opening.js";

const PAUSE = 60;
const EDITABLE = /^(compact )?(string|bytes|bool|uuid|float64|u?int\d+)\??$/;

/** @param {{doc: string, node: any, model: any, frame: any, repairs: any[], onPath: (id: string) => void}} props */
export function Details({ doc, node, model, frame, repairs, onPath }) {
  const [known, setKnown] = useState(null);
  const [editing, setEditing] = useState(false);
  useEffect(() => {
    if (!node) return undefined;
    const timer = setTimeout(() => get(`/api/bytes/${doc}/node`, { node: node.id }).then(setKnown, () => setKnown(null)), PAUSE);
    return () => clearTimeout(timer);
  }, [node?.id]);
  if (!node) return html`<div class="details"></div>`;
  const path = [];
  for (let at = node; at; at = at.up) path.unshift(at);
  const own = known?.row.id === node.id ? known : null;
  const more = async () => {
    const next = await get(`/api/bytes/${doc}/node`, { node: node.id, start: own.value.text.length });
    setKnown({ ...own, value: { ...own.value, text: own.value.text + next.value.text } });
  };
  const schema = own?.schema;
  const { kind, message, version, whole } = frame;
  const edit = async ({ text, none }) => {
    const { hex } = await post(`/api/bytes/${doc}/edit`, { node: node.id, text, null: Boolean(none) });
    const api = kind === "response" ? message.replace(/Response$/, "") : "";
    await openText(hex, { kind, api, version: kind === "request" ? "" : version, message: kind === "message" ? message : "", node: node.p });
  };
  return html`<section class="details" aria-label="The field at the cursor" tabindex="0">
    <div class="path">${path.map((each, at) => html`${at ? " › " : ""}${at === path.length - 1 ? html`<b>${each.n || frame.title}</b>` : html`<button onClick=${() => onPath(each.id)}>${each.n || frame.title}</button>`}`)}
      <span> · ${node.t} · ${node.l} ${node.l === 1 ? "byte" : "bytes"} at ${node.o}${node.b.startsWith("b") ? "" : " of the unpacked bytes"}</span>
      ${whole && kind !== "records" && own?.value && !node.k && !node.h && node.b.startsWith("b") && EDITABLE.test(node.t) && html` <button onClick=${() => setEditing(true)}>edit</button>`}</div>
    ${node.f && html`<div class="wrong">${faultText(node.f)}</div>`}
    ${repairs.map((each) => html`<div class="right-one" role="status">${each.text}</div>`)}
    ${node.d && html`<div>${node.d}</div>`}
    ${schema && html`<div class="soft">Versions ${schema.versions}${schema.nullable ? ", may be null" : ""}${schema.tag !== null ? `, tag ${schema.tag}` : ""}${schema.default !== null ? `, default ${schema.default}` : ""}</div>`}
    ${own?.value && !node.k && html`<pre>${own.value.text}${node.x ? html`<span class="soft"> (${node.x})</span>` : null}</pre>`}
    ${own?.value && own.value.text.length < own.value.length && html`<div><button onClick=${more}>Show more of ${number(own.value.length)} characters</button></div>`}
    ${editing && html`<${FormDialog} title=${`Change ${node.n}`} verb="Change" onSubmit=${edit} onClose=${() => setEditing(false)}>
      <p class="soft">The message is encoded again; sizes follow. Bytes are typed in hex.</p>
      <label class="field">${node.t}<input name="text" class="mono" autofocus value=${own?.plain ?? ""} /></label>
      ${node.t.endsWith("?") && html`<label><input type="checkbox" name="none" checked=${node.v === "null"} /> null</label>`}<//>`}
  </section>`;
}
