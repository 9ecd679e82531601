// Faults of the embedded broker: what its next requests should suffer, and what still waits.
import { get, html, post, useEffect, useState } from "../lib.js";
import { protocol } from "../app/protocol.js";
import { Card, Sheet } from "../components/sheet.js";

const KINDS = { fail: "answer with an error", delay: "delay", close: "close the connection", lose: "serve, and lose the answer" };

/** @param {{id: string}} props */
export function FaultsView({ id }) {
  const [known, setKnown] = useState({ apis: [], errors: [] });
  const [waiting, setWaiting] = useState([]);
  const [kind, setKind] = useState("fail");
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    protocol().then(setKnown, () => {});
    const look = () => get(`/api/faults/${id}`).then((found) => setWaiting(found.waiting), () => {});
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [id]);
  const submit = async (event) => {
    event.preventDefault();
    const form = Object.fromEntries(new FormData(event.target));
    try {
      setWaiting((await post(`/api/faults/${id}`, { ...form, kind, times: Number(form.times), nth: Number(form.nth), seconds: Number(form.seconds) })).waiting);
      setWrong("");
    } catch (error) { setWrong(error.message); }
  };
  const options = (names, chosen) => names.map((name) => html`<option key=${name} selected=${name === chosen}>${name}</option>`);
  return html`<${Sheet}>
    <section class="card start"><form onSubmit=${submit}><h1>Order a fault</h1><p class="soft">It applies to the next requests that fit, and is used up by them.</p>
      <div class="pair"><label class="field">API<select name="api">${options(known.apis.map((each) => each.name), "Produce")}</select></label>
        <label class="field">What happens<select value=${kind} onChange=${(event) => setKind(event.target.value)}>${Object.entries(KINDS).map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}</select></label>
        ${kind === "fail" && html`<label class="field">Error<select name="error">${options(known.errors.filter((each) => each.code !== 0).map((each) => each.name), "NOT_LEADER_OR_FOLLOWER")}</select></label>`}
        ${kind === "delay" && html`<label class="field">Seconds<input name="seconds" type="number" min="0" max="3600" step="any" value="1" /></label>`}
        <label class="field">How often<input name="times" type="number" min="1" value="1" /></label><label class="field">From which request on<input name="nth" type="number" min="1" value="1" /></label>
        <label class="field">Only this topic<input name="topic" placeholder="any" /></label><label class="field">Only this client id<input name="client_id" placeholder="any" /></label></div>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      <div><button class="main">Order</button></div></form></section>
    <${Card}><div class="tools flat"><h2>Waiting for a request</h2><span class="grow"></span>${waiting.length > 0 && html`<button onClick=${() => post(`/api/faults/${id}/clear`, {}).then((found) => setWaiting(found.waiting))}>Forget them</button>`}</div>
      ${waiting.length ? html`<ul>${waiting.map((text) => html`<li>${text}</li>`)}</ul>` : html`<p class="soft" role="status">No fault waits.</p>`}<//><//>`;
}
