// A view that is one list: its filter, how many rows fit, and what is said when there are none.
import { Empty, Failed, html, number, refine, useState } from "../lib.js";
import { FilterBox } from "./filterbox.js";
import { Grid, useWindows } from "./grid.js";

/**
 * @param {{place: import("../app/router.js").Place, id: string, label: string, noun: string, columns: any[] | ((answer: any) => any[]),
 *   load: (start: number, count: number) => Promise<any>, open: (row: any) => void, filtered?: boolean, extra?: string, title?: any, tools?: any,
 *   nothing: [string, any], failed: string, rowClass?: (row: any) => string}} props
 *   `extra` is what else the rows depend on.
 */
export function List(props) {
  const { place, noun, label } = props;
  const { filter = "", row = "0" } = place.query;
  const [turn, setTurn] = useState(0);
  const list = useWindows(JSON.stringify([props.id, filter, props.extra, turn]), props.load);
  const { total = 0, matched = total } = list.answer ?? {};
  const open = (index) => { const one = list.row(index); if (one) props.open(one); };
  const again = () => setTurn(turn + 1);
  return html`<div class="tools">${props.title}${props.filtered && html`<${FilterBox} label=${`Filter ${label.toLowerCase()}`} value=${filter} placeholder=${`name of a ${noun}   /`} onChange=${(text) => refine({ filter: text, row: "" })} />`}
      <span class="soft" role="status">${list.answer ? `${number(matched)}${matched === total ? "" : ` of ${number(total)}`} ${matched === 1 ? noun : `${noun}s`}` : ""}</span>
      ${!props.filtered && html`<span class="grow"></span><button onClick=${again}>Again</button>`}${props.tools?.(again)}</div>
    ${list.failure ? html`<${Failed} error=${list.failure} title=${props.failed}><button onClick=${again}>Try again</button><//>`
      : list.answer && !matched ? (total ? html`<${Empty} title=${`No ${noun} has this name`}><button onClick=${() => refine({ filter: "", internal: 1 })}>Show all</button><//>` : html`<${Empty} title=${props.nothing[0]}>${props.nothing[1]}<//>`)
      : html`<${Grid} label=${label} columns=${typeof props.columns === "function" ? props.columns(list.answer ?? {}) : props.columns} count=${matched} rowOf=${list.row} cursor=${Number(row)} rowClass=${props.rowClass} onCursor=${(at) => refine({ row: at })} onOpen=${open} />`}`;
}
