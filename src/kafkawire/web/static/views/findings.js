// Findings: the incidents, worst first, each with what to do and links to the frames that prove it.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/app/api.js";
import { counted, moment } from "/static/app/format.js";
import { link, refine } from "/static/app/router.js";
import { Empty, Failed, Loading } from "/static/components/states.js";
import { Tabs } from "/static/components/tabs.js";

const SHOWN = 12;

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function FindingsView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  useEffect(() => { get(source.kind === "logs" ? `/api/logs/${id}/findings` : `/api/exchanges/${id}/findings`).then(setFound, setFailure); }, [id]);
  const level = place.query.level ?? "";
  const body = failure ? html`<${Failed} error=${failure} title="The rules could not run" />`
    : !found ? html`<${Loading} what="Applying the rules" />`
    : !found.total ? html`<${Empty} title="The rules found nothing">No stuck consumer, no closed connection without a reason, no duplicate, no damage.<//>`
    : html`<div tabindex="0" class="scrolls"><div class="sheet">
        <div class="tools flat"><h1>${counted(found.total, "finding")}</h1><span class="grow"></span>
          ${["error", "warning", "info"].filter((each) => found.counts[each]).map((each) => html`<button key=${each} aria-pressed=${level === each} onClick=${() => refine({ level: level === each ? "" : each })}>${found.counts[each]} ${each}</button>`)}</div>
        ${found.rows.filter((each) => !level || each.level === level).map((each, number) => html`<${Finding} key=${number} one=${each} id=${id} />`)}
      </div></div>`;
  return html`<${Tabs} source=${source} current="findings" />${body}`;
}

function Finding({ one, id }) {
  const more = one.evidence.length - SHOWN;
  const span = one.t0 ? { since: one.t0, until: one.t1 ? String(BigInt(one.t1) + 1n) : "" } : {};
  return html`<article class=${`card finding ${one.level}`}>
    <h2><span class=${`chip ${one.level}`}>${one.level}</span>${one.rule}${one.certainty === "proven" ? null : html`<span class="soft">suspected</span>`}</h2>
    <p>${one.text}</p><p class="soft">→ ${one.advice}</p>
    <dl class="facts">
      ${one.connection && html`<div><dt>connection</dt><dd><a href=${link([id, "exchanges"], { filter: `connection = ${one.conn_id}` })}>${one.conn_id}</a>, ${one.connection}</dd></div>`}
      ${one.client_id && html`<div><dt>client</dt><dd>${one.client_id}</dd></div>`}
      ${one.entity && html`<div><dt>about</dt><dd>${one.entity}</dd></div>`}
      ${one.t0 && one.conn_id !== null && html`<div><dt>time</dt><dd><a href=${link([id, "exchanges"], { ...span, filter: `connection = ${one.conn_id}` })}>${moment(one.t0)}${one.t1 && one.t1 !== one.t0 ? ` to ${moment(one.t1)}` : ""}</a></dd></div>`}
    </dl>
    ${one.evidence.length > 0 && html`<div class="evidence"><span class="soft">proven by</span>${one.evidence.slice(0, SHOWN).map((each) => html`<a key=${`${each.conn_id}/${each.seq}`} href=${link(["bytes", id, each.conn_id, each.seq])}>${each.conn_id}/${each.seq}</a>`)}
      ${one.count > Math.min(SHOWN, one.evidence.length) && html`<span class="soft">and ${one.count - Math.min(SHOWN, one.evidence.length)} more</span>`}</div>`}
  </article>`;
}
