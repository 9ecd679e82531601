// The line above the bytes: what they are taken for, their faults, and what one can do with them.
import { bytes, counted, get, go, html, link, post, refine, useEffect, useState } from "../../lib.js";
import { protocol } from "../../app/protocol.js";
import { copyText, Menu, say } from "../../components/menu.js";
import { CompareDialog } from "./compare.js";

const MOST_COPIED = 1 << 20;

/** @param {{opened: any, frame: any, place: any, about: any, faults: any[], searched: boolean, onFault: () => void, chunks: (buffer: string) => any}} props */
export function BytesTools({ opened, frame, place, about, faults, searched, onFault, chunks }) {
  const [known, setKnown] = useState(null);
  const [comparing, setComparing] = useState(false);
  const asked = opened.asked;
  useEffect(() => { protocol().then(setKnown, () => {}); }, []);
  const kind = asked.kind || frame.kind;
  const api = asked.api || frame.message.replace(/(Request|Response)$/, "");
  const choose = (changes) => {
    const next = { kind, api, version: asked.version ?? (frame.version >= 0 ? frame.version : ""), message: asked.message, ...changes };
    if (next.kind === "response" && !next.api) next.api = "ApiVersions";
    const own = known?.apis.find((each) => each.name === next.api);
    if (next.kind === "response" && own && (next.version === "" || changes.api)) next.version = own.response[1];
    if (next.kind === "message" && !next.message) { next.message = "ConsumerProtocolSubscription"; next.version = ""; }
    if (next.kind === "records" || next.kind === "") Object.assign(next, { api: "", version: "", message: "" });
    if (next.kind === "request" && !("version" in changes)) Object.assign(next, { version: "", message: "" });
    refine({ ...next, node: "" }, false);
  };
  const versions = frame.versions ?? (kind === "response" ? known?.apis.find((each) => each.name === api)?.response : null);
  const numbers = versions ? Array.from({ length: versions[1] - versions[0] + 1 }, (_, at) => versions[0] + at) : [];
  const total = opened.frames.reduce((sum, each) => sum + each.length, 0);

  const hexText = async () => {
    const buffer = opened.buffers.find((each) => each.id === frame.buffer);
    const span = await chunks(frame.buffer).span(frame.offset, Math.min(frame.offset + frame.length, frame.offset + MOST_COPIED, buffer.length));
    return Array.from(span, (byte) => byte.toString(16).padStart(2, "0"));
  };
  const copy = {
    "Hex": async () => (await hexText()).join(""),
    "Python bytes": async () => `bytes.fromhex("${(await hexText()).join("")}")`,
    "C array": async () => `{${(await hexText()).map((each) => `0x${each}`).join(", ")}}`,
    "JSON": async () => (await get(`/api/bytes/${opened.doc}/copy`, { frame: frame.id, form: "json" })).text,
    "kafkawire code": async () => (await get(`/api/bytes/${opened.doc}/copy`, { frame: frame.id, form: "code" })).text,
    "Link to these bytes": async () => {
      const { linkToBytes } = await import("./opening.js");
      const target = await linkToBytes((await hexText()).join(""), { kind: frame.kind === "records" ? "records" : kind, api: kind === "response" ? api : "", version: kind === "response" ? frame.version : "" });
      if (!target) throw new Error("more than 64 kB do not fit into a link; share the file instead");
      return location.origin + location.pathname + target;
    },
  };

  const brokers = about.write && frame.kind === "request" && frame.whole ? about.sources.filter((each) => each.kind === "broker") : [];
  const send = async (title) => {
    const { id } = brokers.find((each) => each.title === title);
    try {
      const { number } = await post(`/api/brokers/${id}/send`, { doc: opened.doc, frame: Number(frame.id) });
      go(link(["bytes", id, "sent", number]));
    } catch (error) { say(error.message); }
  };

  return html`<div class="tools">
    <h1 class="title">${opened.frames.length === 1 ? frame.title : counted(opened.frames.length, "frame")}</h1>
    <span class="soft wide">${opened.title ? `${opened.title} · ` : ""}${bytes(total)}${opened.note && !opened.unknown ? ` · ${opened.note}` : ""}</span>
    ${faults.length > 0 && html`<button class="chip error" onClick=${onFault} title="Go to the next fault (n)">${counted(faults.length, "fault")}</button>`}
    ${!faults.length && html`<span class=${`chip ${searched ? "good" : ""}`} role="status">${searched ? "no faults" : "searching for faults"}</span>`}
    <span class="grow"></span>
    <select aria-label="What the bytes are" value=${kind} onChange=${(event) => choose({ kind: event.target.value })}>
      ${!["request", "response", "message", "records"].includes(kind) && html`<option value=${kind}>choose…</option>`}
      <option value="request">requests</option><option value="response">responses</option><option value="records">record batches</option><option value="message">a message</option>
    </select>
    ${kind === "response" && html`<select aria-label="API" value=${api} onChange=${(event) => choose({ api: event.target.value })}>
      ${(known?.apis ?? [{ name: api }]).map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select>`}
    ${kind === "message" && html`<select aria-label="Message" value=${asked.message || frame.message} onChange=${(event) => choose({ message: event.target.value, version: "" })}>
      ${(known?.messages ?? [asked.message]).map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`}
    ${numbers.length > 0 && html`<select aria-label="Version" value=${frame.version} onChange=${(event) => choose({ version: event.target.value })}>
      ${numbers.map((each) => html`<option key=${each} value=${each}>v${each}</option>`)}</select>`}
    <button aria-pressed=${place.query.panel === "versions"} disabled=${!frame.versions} onClick=${() => refine({ panel: place.query.panel ? "" : "versions" })}>Versions</button>
    <button onClick=${() => setComparing(true)}>Compare…</button>
    ${brokers.length > 0 && html`<${Menu} label="Send to" items=${brokers.map((each) => each.title)} onPick=${send} />`}
    <${Menu} label="Copy" items=${Object.keys(copy)} onPick=${(name) => copyText(copy[name])} />
    ${comparing && html`<${CompareDialog} place=${place} frame=${frame} asked=${asked} onClose=${() => setComparing(false)} />`}
  </div>`;
}
