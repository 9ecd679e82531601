// Two documents field by field: the list of differences, and the bytes of both.
import { counted, Empty, Failed, html, Loading, octets, post, refine, useEffect, useMemo, useState } from "../lib.js";
import { Chunks, HexPane } from "../components/hexpane.js";
import { Rows } from "../components/rows.js";
import { bodyOf } from "./bytes/opening.js";

export function DiffView({ place }) {
  const [found, setFound] = useState(null);
  const [failure, setFailure] = useState(null);
  const { row, ...rest } = place.query;
  const wanted = JSON.stringify(rest);
  useEffect(() => {
    setFailure(null);
    (async () => {
      const [before, after] = await Promise.all(["a_", "b_"].map(async (side) => post("/api/bytes", await bodyOf(place, side))));
      const result = await post("/api/bytes/diff", { before: before.doc, after: after.doc });
      setFound({ before, after, ...result });
    })().catch(setFailure);
  }, [wanted]);
  if (failure) return html`<${Failed} error=${failure} title="These bytes cannot be compared" />`;
  if (!found) return html`<${Loading} what="Comparing" />`;
  return html`<${Both} found=${found} at=${Number(row ?? 0)} />`;
}

function Both({ found, at }) {
  const { before, after, rows } = found;
  const current = rows[at];
  const chunks = useMemo(() => [before, after].map((side) => side.buffers.map((buffer) => new Chunks(buffer.length,
    (start, count) => octets(`/api/bytes/${side.doc}/raw`, { buffer: buffer.id, start, count })))), [before.doc, after.doc]);
  const span = (side) => (side && !side.inner ? { start: side.offset, end: side.offset + side.length } : null);
  const pickedBefore = useMemo(() => span(current?.before), [current]);
  const pickedAfter = useMemo(() => span(current?.after), [current]);
  const marks = useMemo(() => ["before", "after"].map((side) => rows.map((each) => span(each[side])).filter(Boolean)), [rows]);
  const step = (event) => {
    const by = { n: 1, p: -1 }[event.key];
    if (!by || !rows.length) return false;
    refine({ row: (at + by + rows.length) % rows.length });
    return true;
  };
  if (!rows.length) return html`<${Empty} title="No differences">Every field of both frames has the same value. Sizes and counts follow from the fields and are not compared.<//>`;
  const frame = current?.frame ?? 0;
  const bufferOf = (side) => side.buffers.findIndex((each) => each.id === side.frames[frame]?.buffer);
  const line = (index) => {
    const each = rows[index];
    return html`<div role="option" id=${`diff-${index}`} key=${index} aria-selected=${index === at} class=${`row${index === at ? " cursor" : ""}`} onClick=${() => refine({ row: index })}>
      <span class="path" title=${each.path}><span class=${`chip ${{ added: "good", removed: "error" }[each.kind] ?? "warning"}`}>${each.kind}</span> ${tail(each.path) || "all"}</span>
      <span class="was" title=${each.before?.text}>${each.before?.text ?? ""}</span><span class="is" title=${each.after?.text}>${each.after?.text ?? ""}</span>
    </div>`;
  };
  return html`<div class="tools"><h1>${counted(rows.length, "difference")}${found.more ? ", and more" : ""}</h1>
      <span class="soft wide">${before.frames[frame]?.title ?? ""} and ${after.frames[frame]?.title ?? ""}</span>
      ${found.unpaired > 0 && html`<span class="chip warning">${counted(found.unpaired, "frame")} without a counterpart</span>`}
      <span class="grow"></span><span class="soft wide">next <kbd>n</kbd> previous <kbd>p</kbd></span></div>
    <div class="split"><div class="difflist"><${Rows} count=${rows.length} row=${line} id="diff" label="Differences" cursor=${at} focused=${true} onCursor=${(index) => refine({ row: index })} onKey=${step} />
      <section class="details" aria-label="The difference at the cursor" tabindex="0"><div class="path"><b>${current?.path || "all"}</b></div>
        ${["before", "after"].map((side) => current?.[side] && html`<pre class=${side === "before" ? "wrong" : "right-one"}>${side === "before" ? "−" : "+"} ${current[side].text} <span class="soft">at ${current[side].offset}${current[side].inner ? " of the unpacked bytes" : ""}</span></pre>`)}</section></div>
    <div class="panes">
      <div class="caption"><b>before</b><span class="grow">${before.title}</span><span>${before.buffers[bufferOf(before)].length} bytes</span></div>
      <${HexPane} name="main" label="Bytes before" chunks=${chunks[0][bufferOf(before)]} picked=${pickedBefore} marks=${marks[0]} lit=${null} onHover=${() => {}} onPick=${() => {}} onKey=${step} />
      <div class="caption"><b>after</b><span class="grow">${after.title}</span><span>${after.buffers[bufferOf(after)].length} bytes</span></div>
      <${HexPane} name="other" label="Bytes after" chunks=${chunks[1][bufferOf(after)]} picked=${pickedAfter} marks=${marks[1]} lit=${null} onHover=${() => {}} onPick=${() => {}} onKey=${step} />
    </div></div>`;
}

/** The end of a path, which names the field. @param {string} path */
const tail = (path) => (path.length > 44 ? `…${path.slice(-43)}` : path);
