// Messages: a search that streams its matches, a tail, and the record at the cursor with all of it.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { get, lines } from "/static/app/api.js";
import { bytes, counted, moment, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Grid } from "/static/components/grid.js";
import { copyText } from "/static/components/menu.js";
import { Empty, Failed } from "/static/components/states.js";
import { ProduceDialog } from "./writes.js";

const KEPT = 1000;

/** @param {{id: string, name: string, place: any, partitions: any[], about: any}} props */
export function Messages({ id, name, place, partitions, about }) {
  const { q = "", from = "end-100", partition = "", tail = "", at = "" } = place.query;
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  const [state, setState] = useState(/** @type {any} */ ({}));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [run, setRun] = useState(0);
  const stop = useRef(/** @type {AbortController|null} */ (null));
  const start = q && from === "end-100" ? "start" : from;
  const base = `/api/brokers/${id}/topics/${encodeURIComponent(name)}`;
  const cursor = Math.max(0, rows.findIndex((each) => `${each.p}/${each.o}` === at));

  const follow = async (/** @type {any} */ more) => {
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    setFailure(null);
    setState({ running: true });
    let kept = more ? rows : [], missed = 0;
    if (!more) setRows([]);
    const body = tail ? { filter: q } : { filter: q, from: start, partition: partition === "" ? null : Number(partition), limit: q ? 200 : 500, starts: more ?? {} };
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
  useEffect(() => { follow(null); return () => stop.current?.abort(); }, [id, name, q, start, partition, tail, run]);
  const halt = () => { stop.current?.abort(); setState((before) => ({ ...before, running: false, end: "stopped" })); };
  const choose = (/** @type {number} */ index) => { const one = rows[index]; if (one) refine({ at: `${one.p}/${one.o}` }); };
  const current = rows[cursor];
  const columns = [
    { key: "p", title: "part.", width: "58px", right: true, show: (/** @type {any} */ r) => r.p },
    { key: "o", title: "offset", width: "110px", right: true, show: (/** @type {any} */ r) => r.o },
    { key: "t", title: "time", width: "200px", show: (/** @type {any} */ r) => (r.t === "-1" ? "" : moment(r.t)) },
    { key: "k", title: "key", width: "minmax(90px, 1fr)", name: "mono", show: (/** @type {any} */ r) => r.k ?? html`<span class="soft">null</span>` },
    { key: "v", title: "value", width: "minmax(180px, 4fr)", name: "mono", show: (/** @type {any} */ r) => r.v ?? html`<span class="soft">null</span>` },
    { key: "l", title: "size", width: "80px", right: true, show: (/** @type {any} */ r) => (r.l < 0 ? "" : bytes(r.l)) },
  ];
  const said = tail ? `${number(state.received ?? 0)} new${state.missed ? `, ${number(state.missed)} not shown` : ""}`
    : state.scanned === undefined ? "" : `${counted(state.matched, q ? "match" : "message", q ? "matches" : undefined)}, ${number(state.scanned)} of ${number(state.of)} scanned${state.seconds > 0.5 ? `, ${number(state.scanned / state.seconds)}/s` : ""}`;
  return html`<div class="tools">
      <${FilterBox} label="Search messages" value=${q} failure=${failure?.column ? failure : null} placeholder="word, or value.user.id = 42, header.trace ~ abc   /" onChange=${(text) => refine({ q: text, at: "" })} />
      <select aria-label="Partition" value=${partition} onChange=${(event) => refine({ partition: event.target.value, at: "" })}><option value="">all partitions</option>${partitions.map((each) => html`<option key=${each.partition} value=${each.partition}>partition ${each.partition}</option>`)}</select>
      <select aria-label="From" value=${from} disabled=${Boolean(tail)} onChange=${(event) => refine({ from: event.target.value === "end-100" ? "" : event.target.value, at: "" })}>
        <option value="end-100">the latest</option><option value="start">from the start</option>${[["the last hour", 3600], ["the last day", 86400]].map(([title, seconds]) => html`<option value=${`@${Math.floor((Date.now() / 1000 - seconds) / 60) * 60000}`}>${title}</option>`)}
        ${!["end-100", "start"].includes(from) && html`<option value=${from}>${from.startsWith("@") ? moment(`${from.slice(1)}000`) : `from ${from}`}</option>`}</select>
      <button aria-pressed=${Boolean(tail)} onClick=${() => refine({ tail: tail ? "" : 1, at: "" })}>Follow</button>
      ${state.running && !tail ? html`<button onClick=${halt}>Stop</button>` : html`<button onClick=${() => setRun(run + 1)}>Again</button>`}
      ${state.end === "limit" && html`<button class="main" onClick=${() => follow(state.next)}>Go on</button>`}
      <span class="soft" role="status">${said}${state.broken ? " · the answer broke off" : ""}</span></div>
    ${failure && !failure.column ? html`<${Failed} error=${failure} title="The messages cannot be read"><button onClick=${() => setRun(run + 1)}>Try again</button><//>`
      : !rows.length && !state.running ? html`<${Empty} title=${q ? "Nothing was found" : "There are no messages"}>${q ? `All ${number(state.scanned ?? 0)} messages from here on were searched.` : "Follow waits for new ones."}<//>`
      : !rows.length && tail && !state.from ? html`<${Empty} title="Looking for the end of the topic">Messages from there on appear here.<//>`
      : !rows.length && tail ? html`<${Empty} title="Waiting for messages">New messages appear here as they are written.<//>`
      : html`<div class="halves"><div><${Grid} label="Messages" columns=${columns} least="720px" count=${rows.length} rowOf=${(index) => rows[index]} cursor=${cursor} follow=${Boolean(tail) && !at} focused=${false} onCursor=${choose}
          onOpen=${() => current && go(link(["bytes", id, name, current.p, current.o]))} /></div>
        <div>${current && html`<${Record} id=${id} topic=${name} row=${current} base=${base} about=${about} />`}</div></div>`}`;
}

function Record({ id, topic, row, base, about }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  const [sending, setSending] = useState(false);
  const path = `${base}/${row.p}/record`;
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(() => get(path, { offset: row.o }).then((one) => { if (!stale) { setFound(one); setFailure(null); } }, (error) => { if (!stale) setFailure(error); }), 80);
    return () => { stale = true; clearTimeout(timer); };
  }, [path, row.o]);
  if (failure) return html`<${Failed} error=${failure} title="This record cannot be read" />`;
  if (!found) return null;
  const more = async () => {
    const next = await get(path, { offset: row.o, start: found.value.text.length });
    setFound({ ...found, value: { ...found.value, text: found.value.text + next.value.text } });
  };
  return html`<div class="tools"><h2>${topic}-${found.row.p} at ${found.row.o}</h2><span class="grow"></span>
      <button onClick=${() => copyText(async () => found.value.text)}>Copy value</button>
      ${about.write && html`<button onClick=${() => setSending(true)}>Send again…</button>`}
      <a class="button" href=${link(["bytes", id, topic, row.p, row.o])}>Bytes</a></div>
    <div tabindex="0" class="scrolls record"><dl class="facts"><div><dt>time</dt><dd>${moment(found.row.t)}</dd></div><div><dt>key</dt><dd class="mono">${found.key}</dd></div><div><dt>size</dt><dd>${found.row.l < 0 ? "null" : bytes(found.row.l)}</dd></div></dl>
      ${found.headers.length > 0 && html`<table class="plain"><thead><tr><th>header</th><th>value</th></tr></thead><tbody>${found.headers.map((each) => html`<tr><td><code>${each.name}</code></td><td><code>${each.value ?? "null"}</code></td></tr>`)}</tbody></table>`}
      <h3>${found.value.kind}</h3><pre tabindex="0" aria-label="Value">${found.value.text}</pre>
      ${found.value.text.length < found.value.length && html`<button onClick=${more}>Show more of ${number(found.value.length)} characters</button>`}</div>
    ${sending && html`<${ProduceDialog} id=${id} topic=${topic} record=${found} onClose=${() => setSending(false)} />`}`;
}
