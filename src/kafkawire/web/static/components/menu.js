// A button with a short list, and copying to the clipboard with a word that it happened.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";

/** @param {{label: string, items: string[], onPick: (item: string) => void}} props */
export function Menu({ label, items, onPick }) {
  const [open, setOpen] = useState(false);
  const own = useRef(null);
  useEffect(() => {
    if (!open) return undefined;
    own.current.querySelector("[role=menuitem]").focus();
    const outside = (event) => { if (!own.current.contains((event.target))) setOpen(false); };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [open]);
  const key = (event) => {
    const all = ([...own.current.querySelectorAll("[role=menuitem]")]);
    const at = all.indexOf((document.activeElement));
    if (event.key === "Escape") { setOpen(false); own.current.querySelector("button").focus(); }
    else if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all[(at - 1 + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="menu" ref=${own} onKeyDown=${key}>
    <button aria-haspopup="menu" aria-expanded=${open} onClick=${() => setOpen(!open)}>${label} <span aria-hidden="true">▾</span></button>
    ${open && html`<div class="list" role="menu" aria-label=${label}>${items.map((item) => html`<button role="menuitem" key=${item} onClick=${() => { setOpen(false); onPick(item); }}>${item}</button>`)}</div>`}
  </div>`;
}

/** @param {() => Promise<string>} make */
export async function copyText(make) {
  try {
    await navigator.clipboard.writeText(await make());
    say("Copied");
  } catch (error) {
    say(error.message || "The browser refused to copy");
  }
}

/** A word at the edge of the page that leaves by itself; read aloud too. @param {string} text */
export function say(text) {
  const place = document.getElementById("said") ?? document.body.appendChild(Object.assign(document.createElement("div"), { id: "said" }));
  place.setAttribute("role", "status");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = String(setTimeout(() => place.classList.remove("shown"), 2500));
}
