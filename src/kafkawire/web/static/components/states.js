// What a view shows when it has nothing: while it loads, when it failed, and when there is nothing; and asking once.
import { html, useEffect, useState } from "../vendor/preact-htm.js";

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

/**
 * What the server answers, asked once per `key`. The last answer stays until the next one is there.
 * @param {string} key @param {() => Promise<any>} load @returns {{found?: any, failure?: any, again: () => void}}
 */
export function useAnswer(key, load) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let stale = false;
    load().then((found) => stale || setState({ found }), (failure) => stale || setState((before) => ({ ...before, failure })));
    return () => { stale = true; };
  }, [key, turn]);
  return { ...state, again: () => setTurn((n) => n + 1) };
}

/** An answer shown by `children`, or why it is not there. @param {{answer: any, what: string, title: string, help?: any, children: (found: any) => any}} props */
export const Answered = ({ answer, what, title, help, children }) => (answer.failure
  ? html`<${Failed} error=${answer.failure} title=${title}>${help ?? html`<button onClick=${answer.again}>Try again</button>`}<//>`
  : answer.found ? children(answer.found) : html`<${Loading} what=${what} />`);
