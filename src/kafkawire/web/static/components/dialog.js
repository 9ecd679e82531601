// Dialogs of the browser: they keep the focus inside, and Escape closes them.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";

/** @param {{title: string, onClose: () => void, children?: any}} props */
export function Dialog({ title, onClose, children }) {
  const own = useRef(null);
  const before = useRef(document.activeElement); // an input with autofocus takes the focus as soon as it is there
  useEffect(() => {
    own.current.showModal();
    // Only when the dialog is gone: the rest of the page is inert as long as it is open.
    return () => setTimeout(() => before.current?.focus?.({ preventScroll: true }), 0);
  }, []);
  return html`<dialog ref=${own} aria-label=${title} onClose=${onClose} onCancel=${onClose}
    onClick=${(event) => { if (event.target === own.current) onClose(); }}>
    <div class="body"><h2>${title}</h2>${children}</div></dialog>`;
}

/**
 * A form in a dialog. It closes when `onSubmit` is through, and shows its error otherwise.
 * @param {{title: string, verb: string, onSubmit: (form: Record<string, any>) => any, onClose: () => void, disabled?: boolean, extra?: any, children?: any}} props
 */
export function FormDialog({ title, verb, onSubmit, onClose, disabled, extra, children }) {
  const [wrong, setWrong] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await onSubmit(Object.fromEntries(new FormData(event.target)));
      onClose();
    } catch (error) { setWrong(error.message); }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}><form onSubmit=${submit}>${children}
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="end">${extra}<button type="button" onClick=${onClose}>Cancel</button><button class="main" disabled=${disabled}>${verb}</button></div></form><//>`;
}

/** Where to go, asked for by the key `g`. @param {{what: string, onGo: (text: string) => any, onClose: () => void}} props */
export const GoTo = ({ what, onGo, onClose }) => html`<${FormDialog} title="Go to" verb="Go" onClose=${onClose} onSubmit=${({ to }) => onGo(to.trim())}>
  <label class="field">${what}<input name="to" class="mono" required autofocus /></label><//>`;
