// The output of a pipeline run: its tables as lists.
import { Answered, get, html, link, number, refine, useAnswer } from "../lib.js";
import { FilterBox } from "../components/filterbox.js";
import { Grid, useWindows } from "../components/grid.js";
import { Card, Facts, Sheet, Table } from "../components/sheet.js";
import { drawn, useWidth } from "../components/drawing.js";

export function RunView({ place, id }) {
  const width = useWidth();
  const answer = useAnswer(id, () => get(`/api/runs/${id}`));
  const charts = useAnswer(`${id} ${width}`, () => get(`/api/runs/${id}/charts`, { width: Math.min(width, 1120) - 72 }));
  if (place.parts[2]) return html`<${Rows} id=${id} name=${place.parts[2]} query=${place.query} />`;
  return html`<${Answered} answer=${answer} what="Reading the manifest" title="This run cannot be shown">${({ facts, tables }) => html`<${Sheet}>
    <${Facts} facts=${Object.entries(facts)} />
    <${Card} title="Tables"><${Table} heads=${["table", ">rows", "format"]} empty="The run wrote no table."
      rows=${tables.map((each) => [html`<a href=${link([id, "table", each.name])}>${each.name}</a>`, each.rows === null ? "" : number(each.rows), each.format])} /><//>
    ${charts.found?.charts.map((each) => html`<${Card} key=${each.title} title=${each.title}>${each.drawing.map(drawn)}<//>`)}<//>`}<//>`;
}

function Rows({ id, name, query: { filter = "", sort = "", down = "", row = "0" } }) {
  const key = JSON.stringify([id, name, filter, sort, down]);
  const list = useWindows(key, (start, count) => get(`/api/runs/${id}/${name}/rows`, { filter, sort, down, start, count }));
  const { columns = [], total = 0, matched = 0 } = list.answer ?? {};
  const shown = columns.map((each, at) => [each.name, [each.kind === "number" ? 100 : each.kind === "time" ? 190 : 140, 1], each.kind === "time" ? `moment:${at}` : (r) => (r[at] === null ? "" : String(r[at])), { sort: each.kind === "other" ? "" : each.name, right: each.kind === "number" }]);
  return html`<div class="tools"><h1>${name}</h1><${FilterBox} label="Filter rows" value=${filter} failure=${list.failure} placeholder="topic = orders and records > 100   /" onChange=${(text) => refine({ filter: text, row: "" })} />
      <span class="soft" role="status">${list.answer ? `${number(matched)}${matched === total ? "" : ` of ${number(total)}`} rows` : ""}</span></div>
    <${Grid} label=${name} columns=${shown} count=${matched} rowOf=${list.row} cursor=${Number(row)} sort=${sort} down=${Boolean(down)}
      onSort=${(next, downwards) => refine({ sort: next, down: downwards ? 1 : "" })} onCursor=${(at) => refine({ row: at })} />`;
}
