// The forms that change a topic.
import { html, useState } from "/static/vendor/preact-htm.js";
import { post } from "/static/app/api.js";
import { go, link } from "/static/app/router.js";
import { Dialog } from "/static/components/dialog.js";
import { say } from "/static/components/menu.js";

/** @param {{id: string, topic: string, record?: any, onClose: () => void}} props */
export function ProduceDialog({ id, topic, record, onClose }) {
  const [wrong, setWrong] = useState("");
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = (/** @type {string} */ name) => (form.get(`${name}_null`) ? null : form.get(name));
    try {
      const headers = Object.fromEntries(String(form.get("headers")).split("\n").filter(Boolean).map((line) => { const at = line.indexOf("="); return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)]; }));
      const target = String(form.get("topic"));
      const done = await post(`/api/brokers/${id}/topics/${encodeURIComponent(target)}/produce`, { key: text("key"), value: text("value"), headers, copies: Number(form.get("copies")) || 1, partition: form.get("partition") === "" ? null : Number(form.get("partition")) });
      say(`Written to ${target}-${done.partition} at offset ${done.offset}`);
      onClose();
    } catch (error) { setWrong(/** @type {Error} */ (error).message); }
  };
  return html`<${Dialog} title=${record ? "Send again" : "Produce a record"} onClose=${onClose}><form onSubmit=${submit}>
    <label class="field">Topic<input name="topic" value=${topic} required /></label>
    <label class="field">Key<input name="key" class="mono" value=${record?.key ?? ""} /></label>
    <label><input type="checkbox" name="key_null" checked=${!record || record.key_kind === "null"} /> no key</label>
    <label class="field">Value<textarea name="value" class="paste" autofocus value=${record?.value.text ?? ""}></textarea></label>
    <label><input type="checkbox" name="value_null" /> null: a tombstone</label>
    <label class="field">Headers, one name=value per line<textarea name="headers" rows="2" value=${(record?.headers ?? []).map((each) => `${each.name}=${each.value ?? ""}`).join("\n")}></textarea></label>
    <div class="tools flat"><label class="field">Partition<input name="partition" type="number" min="0" placeholder="by key" /></label><label class="field">Copies<input name="copies" type="number" min="1" max="10000" value="1" /></label></div>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="end"><button type="button" onClick=${onClose}>Cancel</button><button class="main">Send</button></div></form><//>`;
}

/** @param {{id: string, topic: string, onClose: () => void}} props */
export function DeleteDialog({ id, topic, onClose }) {
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState("");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post(`/api/brokers/${id}/topics/${encodeURIComponent(topic)}/delete`, { name: typed });
      go(link([id, "topics"]));
    } catch (error) { setWrong(/** @type {Error} */ (error).message); }
  };
  return html`<${Dialog} title="Delete this topic and all of its records" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field">Type ${topic} to confirm<input value=${typed} autofocus onInput=${(event) => setTyped(event.target.value)} /></label>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="end"><button type="button" onClick=${onClose}>Cancel</button><button class="main" disabled=${typed !== topic}>Delete</button></div></form><//>`;
}
