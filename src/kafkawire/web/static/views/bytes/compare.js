// The form that chooses the other side of a comparison.
import { go, html, link, upload, useState } from "../../lib.js";
import { Dialog } from "../../components/dialog.js";
import { packed, sideOf } from "./opening.js";

/** @param {{place: any, frame: any, asked: any, onClose: () => void}} props */
export function CompareDialog({ place, frame, asked, onClose }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const compare = async (other) => {
    const reading = { b_kind: asked.kind, b_api: asked.api, b_message: asked.message, b_version: asked.version };
    go(link(["diff"], { ...sideOf(place, "a_"), ...reading, ...other }));
    onClose();
  };
  const submit = async (event) => {
    event.preventDefault();
    const known = await packed(text);
    if (!text.trim()) setWrong("paste the bytes of the other frame");
    else if (!known) setWrong("these are too many bytes to paste; choose a file");
    else compare(Object.fromEntries(Object.entries(known).map(([name, value]) => [`b_${name}`, value])));
  };
  const file = async (event) => {
    const kept = await upload(event.target.files[0]);
    compare({ b_upload: kept.upload });
  };
  return html`<${Dialog} title="Compare with other bytes" onClose=${onClose}><form onSubmit=${submit}>
    <p class="soft">They are read in the same way as ${frame.title}. The list has one line per field that differs.</p>
    <label class="field">Hex of the other frame<textarea class="paste" autofocus value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="end"><label class="button">Choose a file<input class="hidden" type="file" aria-label="File with the other bytes" onChange=${file} /></label><span class="grow"></span><button type="button" onClick=${onClose}>Cancel</button><button class="main">Compare</button></div>
  </form><//>`;
}
