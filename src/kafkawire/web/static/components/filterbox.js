// The box for a filter: applied shortly after the last key, with the error of the server at its column.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";

const PAUSE = 180;

/** @param {{value: string, failure?: any, placeholder: string, label: string, onChange: (text: string) => void}} props */
export function FilterBox({ value, failure, placeholder, label, onChange }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => { setText(value); }, [value]);
  const input = (next) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), PAUSE);
  };
  const key = (event) => {
    if (event.key === "Escape") {
      if (text) input(""); else event.target.blur();
      event.stopPropagation();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      clearTimeout(timer.current);
      onChange(text.trim());
      (document.querySelector("main .rows"))?.focus();
      event.preventDefault();
    }
  };
  return html`<div class="filter grow">
    <input type="search" data-filter class="mono" aria-label=${label} aria-invalid=${Boolean(failure)} placeholder=${placeholder} value=${text} spellcheck="false" autocomplete="off"
      onInput=${(event) => input(event.target.value)} onKeyDown=${key} />
    ${failure && text === value && html`<div class="below wrong" role="alert">${failure.message}</div>`}
  </div>`;
}
