// What a view shows when it has nothing: while it loads, when it failed, and when there is nothing.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";

/** Shown only when loading takes a moment, so that nothing flashes. @param {{what: string}} props */
export function Loading({ what }) {
  const [late, setLate] = useState(false);
  useEffect(() => { const timer = setTimeout(() => setLate(true), 250); return () => clearTimeout(timer); }, []);
  return html`<div class="empty" role="status">${late ? `${what}…` : ""}</div>`;
}

/** @param {{error: any, title: string, children?: any}} props */
export const Failed = ({ error, title, children }) => html`<div class="empty" role="alert"><h2>${title}</h2>
  <p>${error.message}${error.column ? ` (column ${error.column})` : ""}</p>${children}</div>`;

/** @param {{title: string, children?: any}} props */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2><div>${children}</div></div>`;
