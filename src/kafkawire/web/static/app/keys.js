// The keys that work everywhere, as a list.
import { html } from "../vendor/preact-htm.js";
import { Dialog } from "../components/dialog.js";

const KEYS = {
  "/": "Filter or search",
  "j k  ↑ ↓": "Next and previous row; in hex, the line below and above",
  Enter: "Open the row",
  Esc: "Back",
  "← →": "Close and open a node of the tree; in hex, the byte before and after",
  "[ ]": "The field before and after",
  "n p": "Next and previous fault, difference or error",
  g: "Go to a row, a time, an offset or a byte",
  Tab: "From list to list",
  "?": "This list",
};

/** @param {{onClose: () => void}} props */
export const KeysDialog = ({ onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}>
  <dl class="keys">${Object.entries(KEYS).map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
  <div class="end"><button class="main" autofocus onClick=${onClose}>Close</button></div><//>`;
