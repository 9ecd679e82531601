// Exchanges: every request with its response, filtered and sorted on the server, above them their timeline.
import { html, useCallback, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { download, get } from "/static/app/api.js";
import { bytes, duration, moment, number } from "/static/app/format.js";
import { go, link, refine } from "/static/app/router.js";
import { Grid, useWindows } from "/static/components/grid.js";
import { FilterBox } from "/static/components/filterbox.js";
import { Menu } from "/static/components/menu.js";
import { Empty } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";
import { Timeline } from "/static/components/timeline.js";

const LOOK = 700;
const SLOW = 1_000_000;

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function ExchangesView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const { filter = "", since = "", until = "", sort = "time", down = "", at = "", chart = "count" } = place.query;
  const [state, setState] = useState(/** @type {any} */ (null));
  const [line, setLine] = useState(/** @type {any} */ (null));
  const [cursor, setCursor] = useState(0);
  const [tail, setTail] = useState(Boolean(source.live));
  const version = `${state?.phase} ${source.live ? state?.exchanges : ""}`;
  const key = JSON.stringify([id, filter, since, until, sort, down, version]);
  const params = { filter, since, until, sort, down: down ? 1 : "" };
  const load = useCallback((start, count) => get(`/api/exchanges/${id}/rows`, { ...params, start, count }), [key]);
  const { answer, failure, row } = useWindows(key, load);
  const moved = useRef("");

  useEffect(() => {
    let timer = 0, over = false;
    const look = async () => {
      try {
        const found = await get(`/api/exchanges/${id}`);
        if (over) return;
        setState(found);
        if (found.phase !== "whole" || source.live) timer = setTimeout(look, LOOK);
      } catch { if (!over) timer = setTimeout(look, LOOK * 4); }
    };
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [id]);
  useEffect(() => {
    let stale = false;
    if (!state) return undefined;
    get(`/api/exchanges/${id}/timeline`, params).then((found) => { if (!stale) setLine(found); }, () => {});
    return () => { stale = true; };
  }, [key]);
  useEffect(() => {
    if (!at || moved.current === at || !answer) return;
    moved.current = at;
    get(`/api/exchanges/${id}/rows`, { ...params, at, count: 0 }).then((found) => { if (found.place >= 0) setCursor(found.place); }, () => {});
  }, [at, key, answer]);

  const count = answer?.matched ?? 0;
  const open = (/** @type {number} */ index) => {
    const data = row(index);
    if (data) go(link(["bytes", id, data[0], data[1]]));
  };
  const choose = (/** @type {number} */ index) => {
    setCursor(index);
    setTail(false);
    const data = row(index);
    if (data) { moved.current = `${data[0]}/${data[1]}`; refine({ at: moved.current }); }
  };
  const jump = async (/** @type {number} */ step) => {
    const found = await get(`/api/exchanges/${id}/rows`, { ...params, error: step, from: cursor, count: 0 });
    if (found.place >= 0) setCursor(found.place);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "n" || event.key === "p") { jump(event.key === "n" ? 1 : -1); return true; }
    if (event.key === "c") { const data = row(cursor); if (data) refine({ filter: add(filter, `connection = ${data[0]}`) }); return true; }
    return false;
  };
  const add = (/** @type {string} */ text, /** @type {string} */ term) => (text.includes(term) ? text : [text, term].filter(Boolean).join(" and "));
  const most = Math.max(1000, ...[...Array(Math.min(count, 60)).keys()].map((n) => row(n)?.[7] ?? 0));

  const columns = [
    { key: "id", title: "exchange", width: "88px", show: (/** @type {any} */ r) => html`<a href=${link(["bytes", id, r[0], r[1]])} tabindex="-1">${r[0]}/${r[1]}</a>` },
    { key: "time", title: "time", width: "112px", sort: "time", show: (/** @type {any} */ r) => moment(r[2], "time") },
    { key: "client", title: "client", width: "minmax(100px, 1fr)", sort: "client", show: (/** @type {any} */ r) => r[3] },
    { key: "api", title: "API", width: "minmax(130px, 1fr)", sort: "api", show: (/** @type {any} */ r) => html`${r[4] ?? "?"} <span class="soft">v${r[5] ?? "?"}</span>` },
    { key: "about", title: "topic or group", width: "minmax(110px, 1.4fr)", sort: "about", show: (/** @type {any} */ r) => r[6] ?? "" },
    { key: "wait", title: "wait", width: "150px", sort: "wait_us", right: true, show: (/** @type {any} */ r) => (r[7] === null ? "" : html`<span class=${`meter${r[7] >= SLOW ? " slow" : ""}`} style=${{ width: `${Math.max(1, Math.round(64 * Math.min(1, r[7] / most)))}px` }}></span> ${duration(r[7])}`) },
    { key: "request", title: "request", width: "84px", sort: "req_bytes", right: true, show: (/** @type {any} */ r) => bytes(r[9]) },
    { key: "response", title: "response", width: "84px", sort: "resp_bytes", right: true, show: (/** @type {any} */ r) => bytes(r[10]) },
    { key: "error", title: "error", width: "minmax(110px, 1fr)", sort: "error_code", name: "state", show: (/** @type {any} */ r) => r[11] || (["matched", "no_response_expected"].includes(r[12]) ? "" : r[12].replaceAll("_", " ")) },
  ];
  return html`<${Tabs} source=${source} current=${place.parts[1] ?? "exchanges"} />
    <div class="tools"><${FilterBox} label="Filter exchanges" value=${filter} failure=${failure} placeholder="api = Fetch and wait > 100ms   /" onChange=${(text) => { setCursor(0); refine({ filter: text }); }} />
      <span class="soft" role="status">${answer ? `${number(count)}${count === answer.total ? "" : ` of ${number(answer.total)}`} exchanges` : ""}${state?.phase === "bodies" ? ` · reading bodies, ${number(state.done)}` : ""}</span>
      ${(since || until) && html`<button class="chip" onClick=${() => refine({ since: "", until: "" })} title="Show all times">${moment(since, "time")} – ${moment(until, "time")} ✕</button>`}
      <button aria-pressed=${chart === "wait"} onClick=${() => refine({ chart: chart === "wait" ? "" : "wait" })}>Latency</button>
      <button onClick=${() => jump(1)} title="Next exchange with an error (n)">Next error</button>
      ${source.live && html`<button aria-pressed=${tail} onClick=${() => setTail(!tail)}>Follow</button>`}
      ${about.export && !source.live && html`<${Menu} label="Export" items=${["JSON lines", "CSV", "Parquet"]} onPick=${(form) => download(`/api/exchanges/${id}/export`, { ...params, form: { "JSON lines": "jsonl", CSV: "csv", Parquet: "parquet" }[form] })} />`}
    </div>
    ${state?.failure && html`<div class="notice error" role="alert">${state.failure}</div>`}
    ${(state?.faults ?? []).map((text) => html`<div class="notice">${text}</div>`)}
    ${line?.start && html`<${Timeline} data=${line} kind=${chart} onSpan=${(from, to) => refine({ since: from, until: to })} />`}
    ${answer && !count
      ? answer.total ? html`<${Empty} title="No exchange fits the filter"><button onClick=${() => refine({ filter: "", since: "", until: "" })}>Show all ${number(answer.total)}</button><//>`
        : html`<${Empty} title=${source.live ? "No traffic yet" : "There are no exchanges"}>${source.empty ?? "The capture has no request of Kafka. Connections lists what it has."}<//>`
      : html`<${Grid} label="Exchanges" columns=${columns} least="1010px" count=${count} rowOf=${row} cursor=${cursor} sort=${sort} down=${Boolean(down)} follow=${tail}
          rowClass=${(r) => (r[11] || !["matched", "no_response_expected", "sasl_token"].includes(r[12]) ? "bad" : "")}
          onSort=${(next, downwards) => refine({ sort: next === "time" ? "" : next, down: downwards ? 1 : "" })} onCursor=${choose} onOpen=${open} onKey=${keys} />`}`;
}
