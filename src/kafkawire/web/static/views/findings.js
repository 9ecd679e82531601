// Findings: the incidents, worst first, each with what to do and links to the frames that prove it.
import { Answered, counted, Empty, get, html, link, moment, refine, useAnswer } from "../lib.js";
import { Chip, Facts, Sheet } from "../components/sheet.js";

const SHOWN = 12;

export function FindingsView({ place, source, id }) {
  const answer = useAnswer(id, () => get(`/api/${source.kind === "logs" ? "logs" : "exchanges"}/${id}/findings`));
  const level = place.query.level ?? "";
  return html`<${Answered} answer=${answer} what="Applying the rules" title="The rules could not run">${(found) => (!found.total
    ? html`<${Empty} title="The rules found nothing">No stuck consumer, no closed connection without a reason, no duplicate, no damage.<//>`
    : html`<${Sheet}><div class="tools flat"><h1>${counted(found.total, "finding")}</h1><span class="grow"></span>
        ${["error", "warning", "info"].filter((each) => found.counts[each]).map((each) => html`<button key=${each} aria-pressed=${level === each} onClick=${() => refine({ level: level === each ? "" : each })}>${found.counts[each]} ${each}</button>`)}</div>
      ${found.rows.filter((each) => !level || each.level === level).map((each, at) => html`<${Finding} key=${at} one=${each} id=${id} />`)}<//>`)}<//>`;
}

function Finding({ one, id }) {
  const filter = `connection = ${one.conn_id}`, known = one.conn_id !== null;
  const span = { since: one.t0, until: one.t1 ? String(BigInt(one.t1) + 1n) : "", filter };
  const more = one.count - Math.min(SHOWN, one.evidence.length);
  return html`<article class=${`card finding ${one.level}`}>
    <h2><${Chip} tone=${one.level}>${one.level}<//>${one.rule}${one.certainty !== "proven" && html`<span class="soft">suspected</span>`}</h2>
    <p>${one.text}</p><p class="soft">→ ${one.advice}</p>
    <${Facts} facts=${[["connection", one.connection && html`<a href=${link([id, "exchanges"], { filter })}>${one.conn_id}</a>, ${one.connection}`], ["client", one.client_id], ["about", one.entity],
      ["time", one.t0 && known && html`<a href=${link([id, "exchanges"], span)}>${[...new Set([moment(one.t0), moment(one.t1 ?? one.t0)])].join(" to ")}</a>`]].filter(([, value]) => value)} />
    ${one.evidence.length > 0 && html`<div class="evidence"><span class="soft">proven by </span>${one.evidence.slice(0, SHOWN).map((each, at) => html`${at ? ", " : ""}<a href=${link(["bytes", id, each.conn_id, each.seq])}>${each.conn_id}/${each.seq}</a>`)}${more > 0 && ` and ${more} more`}</div>`}
  </article>`;
}
