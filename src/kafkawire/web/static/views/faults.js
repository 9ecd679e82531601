// Faults of the embedded broker: what its next requests should suffer, and what still waits.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get, post } from "/static/app/api.js";
import { protocol } from "/static/app/protocol.js";
import { Tabs } from "/static/components/tabs.js";

const KINDS = [["fail", "answer with an error"], ["delay", "delay"], ["close", "close the connection"], ["lose", "serve, and lose the answer"]];

/** @param {{place: import("/static/app/router.js").Place, about: any}} props */
export function FaultsView({ place, about }) {
  const id = place.parts[0];
  const source = about.sources.find((each) => each.id === id);
  const [known, setKnown] = useState(/** @type {any} */ ({ apis: [], errors: [] }));
  const [waiting, setWaiting] = useState(/** @type {string[]} */ ([]));
  const [kind, setKind] = useState("fail");
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    protocol().then(setKnown, () => {});
    const look = () => get(`/api/faults/${id}`).then((found) => setWaiting(found.waiting), () => {});
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [id]);
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const form = Object.fromEntries(new FormData(event.target));
    try {
      setWaiting((await post(`/api/faults/${id}`, { ...form, kind, times: Number(form.times), nth: Number(form.nth), seconds: Number(form.seconds) })).waiting);
      setWrong("");
    } catch (error) { setWrong(/** @type {Error} */ (error).message); }
  };
  return html`<${Tabs} source=${source} current="faults" /><div tabindex="0" class="scrolls"><div class="sheet">
    <section class="card start"><form onSubmit=${submit}><h1>Order a fault</h1><p class="soft">It applies to the next requests that fit, and is used up by them.</p>
      <div class="pair"><label class="field">API<select name="api">${known.apis.map((each) => html`<option key=${each.name} selected=${each.name === "Produce"}>${each.name}</option>`)}</select></label>
        <label class="field">What happens<select value=${kind} onChange=${(event) => setKind(event.target.value)}>${KINDS.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}</select></label>
        ${kind === "fail" && html`<label class="field">Error<select name="error">${known.errors.filter((each) => each.code !== 0).map((each) => html`<option key=${each.code} selected=${each.name === "NOT_LEADER_OR_FOLLOWER"}>${each.name}</option>`)}</select></label>`}
        ${kind === "delay" && html`<label class="field">Seconds<input name="seconds" type="number" min="0" max="3600" step="any" value="1" /></label>`}
        <label class="field">How often<input name="times" type="number" min="1" value="1" /></label><label class="field">From which request on<input name="nth" type="number" min="1" value="1" /></label>
        <label class="field">Only this topic<input name="topic" placeholder="any" /></label><label class="field">Only this client id<input name="client_id" placeholder="any" /></label></div>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      <div><button class="main">Order</button></div></form></section>
    <section class="card"><div class="tools flat"><h2>Waiting for a request</h2><span class="grow"></span>${waiting.length > 0 && html`<button onClick=${() => post(`/api/faults/${id}/clear`, {}).then((found) => setWaiting(found.waiting))}>Forget them</button>`}</div>
      ${waiting.length ? html`<ul>${waiting.map((text, number) => html`<li key=${number}>${text}</li>`)}</ul>` : html`<p class="soft" role="status">No fault waits.</p>`}</section>
  </div></div>`;
}
