// Messages: a search that streams its matches, a tail, and the record at the cursor with all of it.
import { age, bytes, counted, download, Empty, Failed, get, go, html, lines, link, moment, number, refine, typedTime, useEffect, useRef, useState } from "../../lib.js";
import { FilterBox } from "../../components/filterbox.js";
import { Grid } from "../../components/grid.js";
import { copyText, Menu } from "../../components/menu.js";
import { Facts, Table } from "../../components/sheet.js";
import { ProduceDialog } from "./produce.js";

const KEPT = 1000;
const LATEST = "end-100";
const FORMS = { "JSON lines": "jsonl", CSV: "csv", Parquet: "parquet" };
const NULL = html`<span class="soft">null</span>`;

/** @param {{id: string, name: string, place: any, partitions: any[], about: any}} props */
export function Messages({ id, name, place, partitions, about }) {
  const { q = "", from = LATEST, partition = "", tail = "", at = "", everywhere = "" } = place.query;
  const [rows, setRows] = useState([]);
  const [state, setState] = useState({});
  const [failure, setFailure] = useState(null);
  const [run, setRun] = useState(0);
  const stop = useRef(null);
  const start = q && from === LATEST ? "start" : from;
  const base = `/api/brokers/${id}/topics/${encodeURIComponent(name)}`;
  const cursor = Math.max(0, rows.findIndex((each) => `${each.p}/${each.o}` === at));

  const follow = async (more) => {
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    setFailure(null);
    setState({ running: true });
    let kept = more ? rows : [], missed = 0;
    if (!more) setRows([]);
    const body = tail ? { filter: q } : { filter: q, from: start, partition: partition === "" ? null : Number(partition), everywhere: Boolean(everywhere), limit: q ? 200 : 500, starts: more ?? {} };
    try {
      for await (const event of lines(`${base}/${tail ? "tail" : "search"}`, { body, signal: own.signal })) {
        if (own.signal.aborted) return;
        if (event.rows?.length) {
          kept = [...kept, ...event.rows];
          if (tail && kept.length > KEPT) { missed += kept.length - KEPT; kept = kept.slice(-KEPT); }
          setRows(kept);
        }
        missed += event.left_out ?? 0;
        if (event.end === "error") throw new Error(event.error);
        setState((before) => ({ ...before, ...event, rows: undefined, missed, received: (before.received ?? 0) + (event.rows?.length ?? 0) }));
      }
      setState((before) => ({ ...before, running: false, broken: !before.end && !tail }));
    } catch (error) {
      if (own.signal.aborted) return;
      setFailure(error);
      setState((before) => ({ ...before, running: false }));
    }
  };
  useEffect(() => { follow(null); return () => stop.current?.abort(); }, [id, name, q, start, partition, tail, everywhere, run]);
  const halt = () => { stop.current?.abort(); setState((before) => ({ ...before, running: false, end: "stopped" })); };
  const choose = (index) => { const one = rows[index]; if (one) refine({ at: `${one.p}/${one.o}` }); };
  const find = (text) => {
    const shown = rows.findIndex((each) => each.o === text);
    if (shown >= 0) return shown;
    const time = /^\d+$/.test(text) ? undefined : typedTime(text, rows[0]?.t);
    if (time === undefined && !/^\d+$/.test(text)) return undefined;
    refine({ from: time === undefined ? text : `@${Math.round(time / 1000)}`, tail: "", at: "" });
    return 0;
  };
  const current = rows[cursor];
  const columns = [
    ["part.", 58, "text:p", { right: true, wide: true }],
    ["offset", 100, "text:o", { right: true }],
    ["time", 200, (r) => (r.t === "-1" ? "" : moment(r.t)), { wide: true }],
    ["key", [90, 1], (r) => r.k ?? NULL, { name: "mono" }],
    ["value", [160, 4], (r) => r.v ?? NULL, { name: "mono" }],
    ["size", 80, (r) => (r.l < 0 ? "" : bytes(r.l)), { right: true, wide: true }],
  ];
  const said = tail ? `${number(state.received ?? 0)} new${state.missed ? `, ${number(state.missed)} not shown` : ""}`
    : state.scanned === undefined ? "" : `${counted(state.matched, q ? "match" : "message", q ? "matches" : undefined)}, ${number(state.scanned)} of ${number(state.of)} scanned${state.seconds > 0.5 ? `, ${number(state.scanned / state.seconds)}/s` : ""}`;
  const nothing = failure?.column ? ["The search cannot start", "A word alone is searched for in keys, values and headers. A field of JSON is compared as in value.user.id = 42."]
    : state.running && !tail ? null : !tail ? [q ? "Nothing was found" : "There are no messages", q ? `All ${number(state.scanned ?? 0)} messages from here on were searched.` : "Follow waits for new ones."]
    : state.from ? ["Waiting for messages", "New messages appear here as they are written."] : ["Looking for the end of the topic", "Messages from there on appear here."];
  const recent = (seconds) => `@${Math.floor((Date.now() / 1000 - seconds) / 60) * 60000}`;
  return html`<div class="tools">
      <${FilterBox} label="Search messages" value=${q} failure=${failure?.column ? failure : null} placeholder="word, or value.user.id = 42, header.trace ~ abc   /" onChange=${(text) => refine({ q: text, at: "", everywhere: "" })} />
      <select aria-label="Partition" value=${partition} onChange=${(event) => refine({ partition: event.target.value, at: "" })}><option value="">all partitions</option>${partitions.map((each) => html`<option key=${each.partition} value=${each.partition}>partition ${each.partition}</option>`)}</select>
      <select aria-label="From" value=${from} disabled=${Boolean(tail)} onChange=${(event) => refine({ from: event.target.value === LATEST ? "" : event.target.value, at: "" })}>
        <option value=${LATEST}>the latest</option><option value="start">from the start</option><option value=${recent(3600)}>the last hour</option><option value=${recent(86400)}>the last day</option>
        ${![LATEST, "start"].includes(from) && html`<option value=${from}>${from[0] === "@" ? moment(`${from.slice(1)}000`) : `from ${from}`}</option>`}</select>
      <button aria-pressed=${Boolean(tail)} onClick=${() => refine({ tail: tail ? "" : 1, at: "" })}>Follow</button>
      ${state.running && !tail ? html`<button onClick=${halt}>Stop</button>` : html`<button onClick=${() => setRun(run + 1)}>Again</button>`}
      ${state.end === "limit" && html`<button class="main" onClick=${() => follow(state.next)}>Go on</button>`}
      ${about.export && !tail && html`<${Menu} label="Export" items=${Object.keys(FORMS)} onPick=${(form) => download(`${base}/export`, { filter: q, from: start, partition, form: FORMS[form] })} />`}
      ${state.keyed?.length > 0 && html`<button title="The hash of the key names it" onClick=${() => refine({ everywhere: 1 })}>Only partition ${state.keyed.join(", ")}: search all</button>`}
      <span class="soft" role="status">${said}${state.broken ? " · the answer broke off" : ""}</span></div>
    ${failure && !failure.column ? html`<${Failed} error=${failure} title="The messages cannot be read"><button onClick=${() => setRun(run + 1)}>Try again</button><//>`
      : !rows.length && nothing ? html`<${Empty} title=${nothing[0]}>${nothing[1]}<//>`
      : html`<div class="halves"><div><${Grid} label="Messages" columns=${columns} count=${rows.length} rowOf=${(index) => rows[index]} cursor=${cursor} follow=${Boolean(tail) && !at} focused=${false} onCursor=${choose}
          goes="Offset, or time such as 12:30:00" find=${find} onOpen=${() => current && go(link(["bytes", id, name, current.p, current.o]))} /></div>
        <div>${current && html`<${Record} id=${id} topic=${name} row=${current} base=${base} about=${about} />`}</div></div>`}`;
}

function Record({ id, topic, row, base, about }) {
  const [found, setFound] = useState(null);
  const [failure, setFailure] = useState(null);
  const [sending, setSending] = useState(false);
  const path = `${base}/${row.p}/record`;
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(() => get(path, { offset: row.o }).then((one) => { if (!stale) { setFound(one); setFailure(null); } }, (error) => { if (!stale) setFailure(error); }), 80);
    return () => { stale = true; clearTimeout(timer); };
  }, [path, row.o]);
  if (failure) return html`<${Failed} error=${failure} title="This record cannot be read" />`;
  if (!found) return null;
  const { value, headers } = found, { t, l, p, o } = found.row;
  const more = async () => {
    const next = await get(path, { offset: row.o, start: value.text.length });
    setFound({ ...found, value: { ...value, text: value.text + next.value.text } });
  };
  return html`<div class="tools"><h2>${topic}-${p} at ${o}</h2><span class="grow"></span>
      <button onClick=${() => copyText(async () => value.text)}>Copy value</button>
      ${about.write && html`<button onClick=${() => setSending(true)}>Send again…</button>`}
      <a class="button" href=${link(["bytes", id, topic, row.p, row.o])}>Bytes</a></div>
    <div tabindex="0" class="scrolls record"><${Facts} facts=${[["time", t !== "-1" && html`<span title=${age(t)}>${moment(t)}</span>`], ["key", html`<code>${found.key}</code>`], ["size", l < 0 ? "null" : bytes(l)]]} />
      ${headers.length > 0 && html`<${Table} heads=${["header", "value"]} rows=${headers.map((each) => [html`<code>${each.name}</code>`, html`<code>${each.value ?? "null"}</code>`])} />`}
      <h3>${value.kind}</h3><pre tabindex="0" aria-label="Value">${value.text}</pre>
      ${value.text.length < value.length && html`<button onClick=${more}>Show more of ${number(value.length)} characters</button>`}</div>
    ${sending && html`<${ProduceDialog} id=${id} topic=${topic} record=${found} onClose=${() => setSending(false)} />`}`;
}
