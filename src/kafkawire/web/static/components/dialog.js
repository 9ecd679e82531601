// A dialog of the browser: it keeps the focus inside, and Escape closes it.
import { html, useEffect, useRef } from "/static/vendor/preact-htm.js";

/** @param {{title: string, onClose: () => void, children?: any}} props */
export function Dialog({ title, onClose, children }) {
  const own = useRef(/** @type {HTMLDialogElement|null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement|null} */ (document.activeElement);
    own.current.showModal();
    return () => before?.focus?.({ preventScroll: true });
  }, []);
  return html`<dialog ref=${own} aria-label=${title} onClose=${onClose} onCancel=${onClose}
    onClick=${(/** @type {MouseEvent} */ event) => { if (event.target === own.current) onClose(); }}>
    <div class="body"><h2>${title}</h2>${children}</div></dialog>`;
}
