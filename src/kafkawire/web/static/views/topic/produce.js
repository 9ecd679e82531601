// The form that writes a record: a new one, or one that is sent again, as it is or edited.
import { html, post } from "../../lib.js";
import { FormDialog } from "../../components/dialog.js";
import { say } from "../../components/menu.js";

/** @param {{id: string, topic: string, record?: any, onClose: () => void}} props */
export function ProduceDialog({ id, topic, record, onClose }) {
  const submit = async ({ topic: target, headers, copies, partition, ...form }) => {
    const pairs = headers.split("\n").filter(Boolean).map((line) => { const at = line.indexOf("="); return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)]; });
    const text = (name) => (form[`${name}_null`] ? null : form[name]);
    const body = { key: text("key"), value: text("value"), headers: Object.fromEntries(pairs), copies: Number(copies) || 1, partition: partition === "" ? null : Number(partition) };
    const done = await post(`/api/brokers/${id}/topics/${encodeURIComponent(target)}/produce`, body);
    say(`Written to ${target}-${done.partition} at offset ${done.offset}`);
  };
  return html`<${FormDialog} title=${record ? "Send again" : "Produce a record"} verb="Send" onSubmit=${submit} onClose=${onClose}>
    <label class="field">Topic<input name="topic" value=${topic} required /></label>
    <label class="field">Key<input name="key" class="mono" value=${record?.key ?? ""} /></label>
    <label><input type="checkbox" name="key_null" checked=${!record || record.key_kind === "null"} /> no key</label>
    <label class="field">Value<textarea name="value" class="paste" autofocus value=${record?.value.text ?? ""}></textarea></label>
    <label><input type="checkbox" name="value_null" checked=${record?.value.kind === "null"} /> null: a tombstone</label>
    <label class="field">Headers, one name=value per line<textarea name="headers" rows="2" value=${(record?.headers ?? []).map((each) => `${each.name}=${each.value ?? ""}`).join("\n")}></textarea></label>
    <div class="tools flat"><label class="field">Partition<input name="partition" type="number" min="0" placeholder="by key" /></label><label class="field">Copies<input name="copies" type="number" min="1" max="10000" value="1" /></label></div><//>`;
}
