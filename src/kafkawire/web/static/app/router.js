// The address is the state: `#/view/part?name=value`. Views read it, and change it with `go`.
import { useEffect, useState } from "../vendor/preact-htm.js";

/** @typedef {{parts: string[], query: Record<string, string>}} Place */

/** @returns {Place} */
export function here() {
  const text = location.hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  const query = Object.fromEntries(new URLSearchParams(at < 0 ? "" : text.slice(at + 1)));
  return { parts: path.split("/").filter(Boolean).map(decode), query };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The address of a view; empty values of the query are left out.
 * @param {(string|number)[]} parts @param {Record<string, any>} [query]
 */
export function link(parts, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${text ? `?${text}` : ""}`;
}

/** @param {string} target @param {boolean} [replace] keep the history as it is */
export function go(target, replace = false) {
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, "", target);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = target;
}

/** Change some values of the query. @param {Record<string, any>} changes @param {boolean} [replace] */
export function refine(changes, replace = true) {
  const { parts, query } = here();
  go(link(parts, { ...query, ...changes }), replace);
}

/** The place, in a component that follows it. @returns {Place} */
export function useRoute() {
  const [place, follow] = useState(here);
  useEffect(() => {
    const changed = () => follow(here());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}
