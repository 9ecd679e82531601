// Exchanges: every request with its response, filtered and sorted on the server, above them their timeline.
import { bytes, download, duration, Empty, get, go, html, link, Loading, moment, number, refine, typedTime, useEffect, useRef, useState, zone } from "../lib.js";
import { FilterBox } from "../components/filterbox.js";
import { Grid, useWindows } from "../components/grid.js";
import { Menu } from "../components/menu.js";
import { useWidth } from "../components/drawing.js";
import { Timeline } from "../components/timeline.js";

const LOOK = 700;
const SLOW = 1_000_000;
const FORMS = { "JSON lines": "jsonl", CSV: "csv", Parquet: "parquet", pcapng: "pcapng" };
const ANSWERED = ["matched", "no_response_expected"];

/** Minutes that the shown times are ahead of UTC. */
const offset = () => (zone.local ? -new Date().getTimezoneOffset() : "");

export function ExchangesView({ place, about, source, id }) {
  const { filter = "", since = "", until = "", sort = "time", down = "", at = "", chart = "count" } = place.query;
  const [state, setState] = useState(null);
  const [line, setLine] = useState(null);
  const [cursor, setCursor] = useState(0);
  const [tail, setTail] = useState(Boolean(source.live));
  const key = JSON.stringify([id, filter, since, until, sort, down]);
  const params = { filter, since, until, sort, down: down ? 1 : "" };
  const path = `/api/exchanges/${id}`;
  const ask = (more) => get(`${path}/rows`, { ...params, ...more });
  const { answer, failure, row } = useWindows(key, (start, count) => ask({ start, count }), state?.version);
  const moved = useRef("");
  const width = useWidth();

  useEffect(() => {
    let timer = 0, over = false;
    const look = async () => {
      try {
        const found = await get(path);
        if (over) return;
        setState(found);
        timer = setTimeout(look, found.phase === "whole" && !source.live ? LOOK * 3 : LOOK);
      } catch { if (!over) timer = setTimeout(look, LOOK * 4); }
    };
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [id]);
  useEffect(() => {
    let stale = false;
    if (state) get(`${path}/timeline`, { ...params, chart, width, zone: offset() }).then((found) => { if (!stale) setLine(found); }, () => {});
    return () => { stale = true; };
  }, [key, state?.version, chart, width, zone.local]);
  useEffect(() => {
    if (!at || moved.current === at || !answer) return;
    moved.current = at;
    ask({ at, count: 0 }).then((found) => { if (found.place >= 0) setCursor(found.place); }, () => {});
  }, [at, key, answer]);

  const count = answer?.matched ?? 0;
  const open = (index) => { const data = row(index); if (data) go(link(["bytes", id, data[0], data[1]])); };
  const choose = (index) => {
    setCursor(index);
    setTail(false);
    const data = row(index);
    if (data) { moved.current = `${data[0]}/${data[1]}`; refine({ at: moved.current }); }
  };
  const jump = async (step) => {
    const found = await ask({ error: step, from: cursor, count: 0 });
    if (found.place >= 0) setCursor(found.place);
  };
  const find = async (text) => {
    const time = text.includes(":") ? typedTime(text, line?.start) : undefined;
    const found = time !== undefined ? await ask({ from_time: time, count: 0 }) : text.includes("/") ? await ask({ at: text, count: 0 }) : {};
    return found.place;
  };
  const narrow = (term) => refine({ filter: filter.includes(term) ? filter : [filter, term].filter(Boolean).join(" and ") });
  const keys = ({ key: pressed }) => {
    const data = row(cursor);
    if (pressed === "n" || pressed === "p") jump(pressed === "n" ? 1 : -1);
    else if (pressed === "c" && data) narrow(`connection = ${data[0]}`);
    else if (pressed === "t" && data?.[6]) narrow(`topic = ${JSON.stringify(data[6].replace(/ and \d+ more$/, ""))}`);
    else return false;
    return true;
  };
  const most = Math.max(1000, ...[...Array(Math.min(count, 60)).keys()].map((n) => row(n)?.[7] ?? 0));
  const wait = (r) => (r[7] === null ? "" : html`<span class=${`meter${r[7] >= SLOW ? " slow" : ""}`} style=${{ width: `${Math.max(1, Math.round(64 * Math.min(1, r[7] / most)))}px` }}></span> ${duration(r[7])}`);
  const columns = [
    ["exchange", 92, (r) => html`<a href=${link(["bytes", id, r[0], r[1]])} tabindex="-1">${r[0]}/${r[1]}</a>`],
    ["time", 112, "time:2", { sort: "time", wide: true }],
    ["client", [100, 1], "text:3", { sort: "client", wide: true }],
    ["API", [130, 1], (r) => html`${r[4] ?? "?"} <span class="soft">v${r[5] ?? "?"}</span>`, { sort: "api" }],
    ["topic or group", [110, 1.4], "text:6", { sort: "about", wide: true }],
    ["wait", 150, wait, { sort: "wait_us", right: true }],
    ["request", 84, "bytes:9", { sort: "req_bytes", wide: true }],
    ["response", 84, "bytes:10", { sort: "resp_bytes", wide: true }],
    ["error", [110, 1], (r) => r[11] || (ANSWERED.includes(r[12]) ? "" : r[12].replaceAll("_", " ")), { sort: "error_code", name: "state" }],
  ];
  return html`<div class="tools"><${FilterBox} label="Filter exchanges" value=${filter} failure=${failure} placeholder="api = Fetch and wait > 100ms   /" onChange=${(text) => { setCursor(0); refine({ filter: text }); }} />
      <span class="soft" role="status">${answer ? `${number(count)}${count === answer.total ? "" : ` of ${number(answer.total)}`} exchanges` : ""}${state?.phase === "headers" ? " · reading the rest" : state?.phase === "bodies" ? ` · reading bodies, ${number(state.done)}` : ""}</span>
      ${(since || until) && html`<button class="chip" onClick=${() => refine({ since: "", until: "" })} title="Show all times">${moment(since, "time")} – ${moment(until, "time")} ✕</button>`}
      <button aria-pressed=${chart === "wait"} onClick=${() => refine({ chart: chart === "wait" ? "" : "wait" })}>Latency</button>
      <button onClick=${() => jump(1)} title="Next exchange with an error (n)">Next error</button>
      ${source.live && html`<button aria-pressed=${tail} onClick=${() => setTail(!tail)}>Follow</button>`}
      ${about.export && html`<${Menu} label="Export" items=${Object.keys(FORMS).filter((form) => form !== "pcapng" || source.packets)} onPick=${(form) => download(`${path}/export`, { ...params, form: FORMS[form] })} />`}
    </div>
    ${state?.failure && html`<div class="notice error" role="alert">${state.failure}</div>`}
    ${(state?.faults ?? []).map((text) => html`<div class="notice">${text}</div>`)}
    ${answer?.total > 0 && html`<${Timeline} line=${line} kind=${chart} onSpan=${(from, to) => refine({ since: from, until: to })} />`}
    ${failure && !count ? html`<${Empty} title="The filter cannot be applied">It is a word, or comparisons such as api = Fetch and wait > 100ms.<//>`
      : !answer ? html`<${Loading} what="Reading the exchanges" />`
      : count ? html`<${Grid} label="Exchanges" columns=${columns} count=${count} rowOf=${row} cursor=${cursor} sort=${sort} down=${Boolean(down)} follow=${tail}
        goes="Row, time such as 12:30:00.5, or exchange such as 3/17" find=${find} rowClass=${(r) => (r[11] || ![...ANSWERED, "sasl_token"].includes(r[12]) ? "bad" : "")}
        onSort=${(next, downwards) => refine({ sort: next === "time" ? "" : next, down: downwards ? 1 : "" })} onCursor=${choose} onOpen=${open} onKey=${keys} />`
      : answer.total ? html`<${Empty} title="No exchange fits the filter"><button onClick=${() => refine({ filter: "", since: "", until: "" })}>Show all ${number(answer.total)}</button><//>`
      : html`<${Empty} title=${source.live ? "No traffic yet" : "There are no exchanges"}>${source.empty ?? "The capture has no request of Kafka. Connections lists what it has."}<//>`}`;
}
