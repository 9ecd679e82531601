// The versions of a message: which read these bytes, how long the message is in each, and what each changed.
import { get, html, useEffect, useState } from "../../lib.js";

/** @param {{doc: string, frame: any, onClose: () => void, onVersion: (version: number) => void}} props */
export function Versions({ doc, frame, onClose, onVersion }) {
  const [rows, setRows] = useState(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    get(`/api/bytes/${doc}/versions`, { frame: frame.id }).then((found) => setRows(found.versions), (error) => setFailure(error.message));
  }, [doc, frame.id]);
  return html`<section class="details versions" aria-label="Versions" tabindex="0">
    <div class="facts"><h3>Versions of ${frame.message || "this frame"}</h3><span class="grow"></span><button class="plain" onClick=${onClose}>Close</button></div>
    ${failure && html`<p class="wrong">${failure}</p>`}
    ${rows && html`<table class="plain"><thead><tr><th>version</th><th>these bytes</th><th class="right">size</th><th>changed</th></tr></thead><tbody>
      ${rows.map((row) => html`<tr key=${row.version}>
        <td><button class="plain" aria-pressed=${row.version === frame.version} onClick=${() => onVersion(row.version)}>v${row.version}</button></td>
        <td>${row.fits === null ? "" : row.fits ? html`<span class="chip good">fit</span>` : html`<span class="soft">do not fit</span>`}</td>
        <td class="right">${row.size ?? html`<span class="soft" title=${row.why ?? ""}>${row.why ? "cannot say it" : ""}</span>`}</td>
        <td>${(row.changes ?? []).map((each) => html`<div><span class=${`chip ${each.kind === "added" ? "good" : each.kind === "removed" ? "error" : ""}`}>${each.kind}</span> <code>${each.path || each.after}</code></div>`)}</td>
      </tr>`)}</tbody></table>`}
  </section>`;
}
