// Bytes: the tree and the hex of the same bytes, linked both ways.
import { Failed, get, go, html, lines as lines_of, link, Loading, octets, post, refine, useCallback, useEffect, useMemo, useRef, useState } from "../lib.js";
import { GoTo } from "../components/dialog.js";
import { Chunks, HexPane } from "../components/hexpane.js";
import { Tree } from "../components/tree.js";
import { TreeModel } from "../components/treemodel.js";
import { BytesTools } from "./bytes/tools.js";
import { Details } from "./bytes/details.js";
import { Versions } from "./bytes/versions.js";
import { bodyOf } from "./bytes/opening.js";

export function BytesView({ place, about }) {
  const [opened, setOpened] = useState(null);
  const [failure, setFailure] = useState(null);
  const { node, panel, ...rest } = place.query;
  const wanted = JSON.stringify([place.parts, rest]);

  useEffect(() => {
    let stale = false;
    setFailure(null);
    const started = performance.now();
    bodyOf(place).then(openBody).then((found) => {
      if (stale) return;
      performance.measure("opened", { start: started });
      setOpened({ ...found, wanted });
    }, (error) => { if (!stale) { setFailure(error); setOpened(null); } });
    return () => { stale = true; };
  }, [wanted]);

  if (failure) return html`<${Failed} error=${failure} title="These bytes cannot be shown"><a class="button" href="#/">Paste others</a><//>`;
  if (!opened) return html`<${Loading} what="Reading the bytes" />`;
  return html`<${Linked} key=${opened.doc} opened=${opened} place=${place} about=${about} />`;
}

/** Open bytes; a record of a broker is fetched as the batch that it is in. @param {any} body */
function openBody(body) {
  const record = /^b\d+$/.test(body.source ?? "") && /^(.+)\/(\d+)\/(\d+)$/.exec(body.item);
  if (!record) return post("/api/bytes", body);
  return get(`/api/brokers/${body.source}/topics/${encodeURIComponent(record[1])}/${record[2]}/batch`, { offset: record[3] });
}

function Linked({ opened, place, about }) {
  const { doc, frames, buffers } = opened;
  const model = useMemo(() => new TreeModel(opened.rows,
    async (node, start, count) => (await get(`/api/bytes/${doc}/rows`, { node, start, count })).rows), [doc]);
  const [, redraw] = useState(0);
  const [cursorId, setCursorId] = useState("");
  const [lit, setLit] = useState(null);
  const [faults, setFaults] = useState(opened.faults);
  const [searched, setSearched] = useState(opened.searched);
  const [repairs, setRepairs] = useState([]);
  const [going, setGoing] = useState(false);
  const chunks = useRef(new Map());
  const changed = useCallback(() => redraw((n) => n + 1), []);
  const lines = model.lines();
  const cursor = lines.findIndex((line) => line.node?.id === cursorId || (line.gap && `gap ${line.gap.parent.id} ${line.gap.start}` === cursorId) || (line.fault && `fault ${line.fault.id}` === cursorId));
  const line = lines[cursor];
  const current = line?.node ?? line?.fault ?? line?.gap?.parent ?? model.roots[0];
  const innerId = current && !current.b.startsWith("b") ? current.b : current?.u !== undefined ? current.id : null;
  const innerNode = innerId ? model.byId.get(innerId) : null;
  const outerId = innerNode ? outermost(model, innerNode).b : current?.b ?? "b0";
  const picked = useMemo(() => (current?.up ? { start: current.o, end: current.o + current.l } : null), [current?.id]);
  const holder = useMemo(() => (innerNode ? spanOf(outermost(model, innerNode)) : null), [innerNode?.id]);

  useEffect(() => {
    const wanted = place.query.node;
    if (wanted) reveal({ path: wanted, frame: place.query.frame ?? 0 });
    else setCursorId(model.roots[0]?.id ?? "");
    if (opened.searched && !opened.faults.length) return undefined;
    const leaving = new AbortController();
    search(leaving.signal).catch(() => {});
    return () => leaving.abort();
  }, [doc]);
  const search = async (signal) => {
    const found = [], fixes = [];
    for await (const event of lines_of(`/api/bytes/${doc}/faults`, { signal })) {
      found.push(...event.faults ?? []);
      fixes.push(...event.repairs ?? []);
      if (event.faults || event.end) setFaults([...found]);
      if (event.end) { setSearched(true); setRepairs(fixes); }
    }
  };

  const chunksOf = (buffer) => {
    if (!chunks.current.has(buffer)) {
      const length = buffer.startsWith("b") ? buffers.find((each) => each.id === buffer).length : model.byId.get(buffer)?.u ?? 0;
      chunks.current.set(buffer, new Chunks(length, (start, count) => octets(`/api/bytes/${doc}/raw`, { buffer, start, count })));
    }
    return chunks.current.get(buffer);
  };
  const choose = (index) => {
    const at = lines[index];
    if (!at) return;
    setCursorId(at.node ? at.node.id : at.fault ? `fault ${at.fault.id}` : `gap ${at.gap.parent.id} ${at.gap.start}`);
    const node = at.node ?? at.fault;
    if (node) refine({ node: node.p, frame: node.id.split(".")[0] === "0" ? "" : node.id.split(".")[0] });
  };
  const reveal = async (where) => {
    const { chain } = await get(`/api/bytes/${doc}/reveal`, where);
    if (!chain.length) return;
    const node = await model.reveal(chain);
    if (node) setCursorId(node.id);
    changed();
  };
  const toggle = async (node, open = !node.open) => {
    if (open) await model.open(node);
    else node.open = false;
    setCursorId(node.id);
    changed();
  };
  const fill = async (gap) => { await model.fill(gap.parent, gap.start); changed(); };
  const hoverNode = useCallback((node) => setLit(node ? { buffer: node.b, id: node.id, start: node.o, end: node.o + node.l } : null), []);
  const hoverByte = (buffer) => (offset) => {
    const node = offset < 0 ? undefined : model.at(buffer, offset);
    if (node?.id !== lit?.id) hoverNode(node);
  };
  const pick = (buffer) => (offset) => reveal({ buffer, offset });
  const faultAt = (step) => {
    if (!faults.length) return false;
    const now = faults.findIndex((each) => each.path === current?.p && String(each.frame) === current?.id.split(".")[0]);
    const next = faults[(now + step + faults.length) % faults.length];
    reveal({ path: next.path, frame: next.frame });
    return true;
  };
  const key = (event) => {
    if (event.key === "n") return faultAt(1);
    if (event.key === "p") return faultAt(-1);
    if ((event.key === "]" || event.key === "[") && current) {
      const to = event.key === "]" ? current.o + Math.max(current.l, 1) : current.o - 1;
      if (to >= 0) reveal({ buffer: current.b, offset: to });
      return true;
    }
    if (event.key === "g") { setGoing(true); return true; }
    return false;
  };
  const goTo = async (text) => {
    const offset = Number(text);
    if (!(offset >= 0 && offset < buffers.find((each) => each.id === outerId).length)) throw new Error("There is no such byte; type an offset in decimal, or in hex such as 0x1f");
    await reveal({ buffer: outerId, offset });
  };
  const faultSpans = useMemo(() => faults.filter((each) => !each.path.includes("records[") || outerId !== "b0")
    .map((each) => ({ start: each.offset, end: each.offset + 1 })), [faults, outerId]);
  const frame = frames[Number(current?.id.split(".")[0] ?? 0)] ?? frames[0];

  return html`
    <${BytesTools} opened=${opened} frame=${frame} place=${place} about=${about} faults=${faults} searched=${searched} onFault=${() => faultAt(1)} chunks=${chunksOf} />
    ${opened.unknown && html`<div class="notice" role="status">${opened.note}. Choose what they are above.</div>`}
    <div class="split">
      <div><${Tree} lines=${lines} cursor=${cursor} lit=${lit?.id} label="Fields" onCursor=${choose} onToggle=${toggle} onGap=${fill} onHover=${hoverNode} onKey=${key} />
        ${place.query.panel === "versions"
          ? html`<${Versions} doc=${doc} frame=${frame} onClose=${() => refine({ panel: "" })} onVersion=${(version) => go(link(place.parts, { ...place.query, kind: frame.kind, api: frame.message.replace(/(Request|Response)$/, ""), version, node: "", panel: "" }))} />`
          : html`<${Details} doc=${doc} node=${current} model=${model} frame=${frame} repairs=${repairs} onPath=${(id) => { setCursorId(id); }} />`}
      </div>
      <div class="panes">
        ${buffers.length > 1 && html`<div class="caption">${frame.title}<span class="grow"></span><span>${buffers.find((each) => each.id === outerId)?.length} bytes</span></div>`}
        <${HexPane} name="main" label="Bytes in hex" chunks=${chunksOf(outerId)} picked=${innerNode ? holder : picked} faults=${faultSpans}
          lit=${lit?.buffer === outerId ? lit : null} onHover=${hoverByte(outerId)} onPick=${pick(outerId)} onKey=${key} />
        ${innerNode && html`<div class="caption"><b>unpacked</b><span class="grow">${innerNode.p}</span><span>${innerNode.u} bytes</span></div>
          <${HexPane} name="inner" label="Unpacked bytes in hex" chunks=${chunksOf(innerId)} picked=${current.b === innerId ? picked : null}
            lit=${lit?.buffer === innerId ? lit : null} onHover=${hoverByte(innerId)} onPick=${pick(innerId)} onKey=${key} />`}
      </div>
    </div>
    ${going && html`<${GoTo} what="Offset of a byte" onGo=${goTo} onClose=${() => setGoing(false)} />`}`;
}

/** The node of the outer buffer that holds an inner one. @param {TreeModel} model @param {any} node */
function outermost(model, node) {
  let found = node;
  while (!found.b.startsWith("b")) found = model.byId.get(found.b);
  return found;
}

const spanOf = (node) => ({ start: node.o, end: node.o + node.l });
