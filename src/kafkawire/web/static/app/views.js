// Which module shows a place.

const BY_KIND = {
  capture: { "": "exchanges", exchanges: "exchanges", conversations: "conversations", findings: "findings", faults: "faults" },
  logs: { "": "logs", partition: "partition", findings: "findings" },
  broker: { "": "broker", topics: "broker", topic: "topic", groups: "groups", group: "groups", cluster: "cluster", sent: "sent" },
};

/** @param {import("./router.js").Place} place @param {any} about */
export function viewOf(place, about) {
  const [head = "", part = ""] = place.parts;
  if (head === "bytes") return place.parts.length > 1 || place.query.hex || place.query.z || place.query.upload ? "bytes" : "start";
  if (head === "diff" || head === "protocol") return head;
  const source = about.sources.find((each) => each.id === head);
  return source ? BY_KIND[source.kind]?.[part] ?? "start" : "start";
}
