// The checks and the measures of log directories, or of one partition: faults, formats, and what other codecs would save.
import { counted, Failed, html, lines, number, useEffect, useState } from "../lib.js";
import { Card, Chip, Sheet, Table } from "../components/sheet.js";

/** A measure as text. @param {any} cell */
const shown = (cell) => (Number.isInteger(cell) ? number(cell) : /^\d{4}-\d\d-\d\dT/.test(cell) ? cell.replace("T", " ").replace(/\+00:00$/, "") : cell);

const EMPTY = { faults: [], sections: [], done: 0 };

export function StatsView({ place: { parts }, id }) {
  const [state, setState] = useState(EMPTY);
  const [asked, setAsked] = useState("");
  const run = async (signal) => {
    setState(EMPTY);
    for await (const { faults = [], sections = [], ...event } of lines(`/api/logs/${id}/stats`, { body: { topic: parts[2], partition: parts[3], what_if: asked === "what-if" }, signal })) {
      setState((before) => ({ ...before, ...event, faults: [...before.faults, ...faults], sections: [...before.sections, ...sections] }));
    }
  };
  useEffect(() => {
    const leaving = new AbortController();
    run(leaving.signal).catch((error) => { if (!leaving.signal.aborted) setState((before) => ({ ...before, end: "error", error: error.message })); });
    return () => leaving.abort();
  }, [asked]);
  const { faults, sections, end, error, checked } = state;
  if (end === "error" && !checked) return html`<${Failed} error=${{ message: error }} title="The files cannot be read" />`;
  return html`<${Sheet}><div class="tools flat"><h1>${parts[2] ? `${parts[2]}-${parts[3]}` : "All partitions"}</h1>
      <span class="soft grow" role="status">${checked && html`<${Chip} tone=${faults.length ? "error" : "good"}>${faults.length ? counted(faults.length, "fault") : "no fault found"}<//> `}${end ? "" : checked ? `measuring ${state.done} %` : "verifying"}</span>
      <button aria-pressed=${asked === "what-if"} onClick=${() => setAsked(asked ? "" : "what-if")}>With other codecs</button></div>
    ${faults.length > 0 && html`<${Card} title="Faults"><${Table} heads=${["file", ">position", "fault"]} rows=${faults} /><//>`}
    ${end === "error" && html`<p class="wrong" role="alert">The measures need all batches: ${error}</p>`}
    ${sections.map(({ title, heads, rows }) => html`<${Card} key=${title} title=${title}><${Table} heads=${heads.map((head) => (head === "value" ? ">value" : head))} rows=${rows.map((row) => row.map(shown))} /><//>`)}<//>`;
}
