// The groups of a broker, of every type.
import { get, go, html, link } from "../lib.js";
import { List } from "../components/list.js";
import { Chip } from "../components/sheet.js";

export function GroupsView({ place, id }) {
  const columns = [
    ["group", [200, 3], (r) => html`<a tabindex="-1" href=${link([id, "group", r.name])}>${r.name}</a>`],
    ["type", 110, "text:type"],
    ["state", 160, (r) => html`<${Chip} tone=${["Stable", "Empty", "Dead"].includes(r.state) ? undefined : "warning"}>${r.state}<//>`],
    ["protocol", [100, 1], "text:protocol"],
  ];
  return html`<${List} place=${place} id=${id} label="Groups" noun="group" filtered columns=${columns} failed="The broker does not answer"
    load=${(start, count) => get(`/api/brokers/${id}/groups`, { filter: place.query.filter, start, count })} open=${(one) => go(link([id, "group", one.name]))}
    nothing=${["There are no groups", "Consumers with a group id make one."]} />`;
}
