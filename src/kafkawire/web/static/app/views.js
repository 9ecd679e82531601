// Which module shows a place, and below which tab of its source.

/** For each kind of source: the first part of a place, the module, and the tab if it has another name. */
const BY_KIND = {
  capture: { "": ["exchanges", "exchanges"], exchanges: ["exchanges"], conversations: ["conversations"], findings: ["findings"], faults: ["faults"] },
  logs: { "": ["logs"], partition: ["partition", ""], findings: ["findings"], stats: ["stats", ""] },
  run: { "": ["run"], table: ["run", ""], findings: ["findings"], exchanges: ["exchanges"], conversations: ["conversations"] },
  broker: { "": ["broker", "topics"], topics: ["broker"], topic: ["topic", "topics"], groups: ["groups"], group: ["group", "groups"], cluster: ["cluster"], sent: ["sent"] },
};

/** @param {import("./router.js").Place} place @param {any} about @returns {{name: string, tab?: string, source?: any}} */
export function viewOf(place, about) {
  const [head = "", part = ""] = place.parts;
  const { hex, z, upload } = place.query;
  if (head === "bytes") return { name: place.parts.length > 1 || hex || z || upload ? "bytes" : "start" };
  if (head === "diff" || head === "protocol") return { name: head };
  const source = about.sources.find((each) => each.id === head);
  const [name, tab = part] = BY_KIND[source?.kind]?.[part] ?? [];
  return name ? { name, tab, source } : { name: "start" };
}
