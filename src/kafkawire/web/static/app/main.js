// The page: the bar with the sources, the view of the address, and the keys that work everywhere.
import { Failed, get, go, here, html, lines, link, Loading, render, useEffect, useRoute, useState, zone } from "../lib.js";
import { Tabs } from "../components/tabs.js";
import { KeysDialog } from "./keys.js";
import { viewOf } from "./views.js";

const THEMES = { "": "dark", dark: "light", light: "" };
const SHOWN = { "": "◐", dark: "●", light: "○" };

function Page() {
  const place = useRoute();
  const [about, setAbout] = useState(null);
  const [failure, setFailure] = useState(null);
  const [help, setHelp] = useState(false);
  const [, redraw] = useState(0);

  const refresh = () => get("/api/about").then((found) => { setAbout(found); setFailure(null); return found; }, (error) => setFailure(error));
  useEffect(() => {
    refresh().then((found) => { if (found?.start && !here().parts.length && !Object.keys(here().query).length) go(`#${found.start}`, true); });
    stay();
    const changed = () => refresh();
    addEventListener("sources", changed);
    return () => removeEventListener("sources", changed);
  }, []);
  useEffect(() => {
    const pressed = (event) => {
      const { target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
      if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        const box = document.querySelector("[data-filter]");
        if (!box) return;
        box.focus();
      } else if (event.key === "Escape") history.back();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);

  const theme = document.documentElement.dataset.theme ?? "";
  const nextTheme = () => {
    const next = THEMES[theme];
    if (next) { document.documentElement.dataset.theme = next; localStorage.setItem("theme", next); }
    else { delete document.documentElement.dataset.theme; localStorage.removeItem("theme"); }
    dispatchEvent(new Event("theme"));
    redraw((n) => n + 1);
  };
  const nextZone = () => { zone.local = !zone.local; redraw((n) => n + 1); };
  const sources = about?.sources ?? [];
  const current = place.parts[0] === "bytes" ? place.parts[1] : place.parts[0];

  return html`<header class="bar">
      <a class="mark" href="#/" title="Start page"><img src="/icon.svg" alt="" width="20" height="20" /><span>kafkawire</span></a>
      <nav aria-label="Sources">
        ${sources.map((each) => html`<a key=${each.id} href=${link([each.id, ...(each.first ?? [])])} aria-current=${current === each.id ? "page" : undefined} title=${each.title}>${each.title.replace(/^.*[/](?=.)/, "")}</a>`)}
        ${about && html`<a href="#/bytes" aria-current=${["bytes", "diff"].includes(place.parts[0]) && !sources.some((each) => each.id === current) ? "page" : undefined}>Bytes</a>
        <a href="#/protocol" aria-current=${place.parts[0] === "protocol" ? "page" : undefined}>Protocol</a>`}
      </nav>
      <button class="plain" onClick=${nextZone} title="Switch the time zone of all times">${zone.local ? "local" : "UTC"}</button>
      <button class="plain" onClick=${nextTheme} title="Light, dark, or as the system" aria-label=${`Theme: ${theme || "system"}`}>${SHOWN[theme]}</button>
      <button class="plain" onClick=${() => setHelp(true)} title="Keys (?)" aria-label="Keys">?</button>
    </header>
    ${failure && about && html`<div class="notice error" role="alert">${failure.message}</div>`}
    <main id="main">${failure && !about
      ? html`<${Failed} error=${failure} title="This page has no access"><p class="soft">The command prints an address with a token. Only that address works.</p><//>`
      : about ? html`<${Place} place=${place} about=${about} zone=${zone.local} />` : html`<${Loading} what="Asking the server" />`}</main>
    ${help && html`<${KeysDialog} onClose=${() => setHelp(false)} />`}`;
}

/** The view of a place below the tabs of its source; its module is loaded when it is first needed. */
function Place({ place, about }) {
  const { name, tab, source } = viewOf(place, about);
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    import(`../views/${name}.js`).then((module) => setLoaded({ name, View: Object.values(module)[0] }), (error) => setLoaded({ name, error }));
  }, [name]);
  useEffect(() => { for (const each of document.querySelectorAll(".bar [aria-current]")) each.scrollIntoView({ block: "nearest", inline: "nearest" }); }, [source?.id]);
  useEffect(() => { document.title = `${place.parts.join(" · ") || "kafkawire"} – kafkawire`; }, [place.parts.join("/")]);
  return html`${source && html`<${Tabs} source=${source} current=${tab} />`}
    ${loaded.name !== name ? html`<${Loading} what="Loading" />`
      : loaded.error ? html`<${Failed} error=${{ message: "Its module could not be loaded. Start the command again." }} title="This view is not there" />`
      : html`<${loaded.View} key=${place.parts.slice(0, 4).join("/")} place=${place} about=${about} source=${source} id=${source?.id} />`}`;
}

/** Hold a stream open, so that the server knows that a tab is there. */
async function stay() {
  for (;;) {
    try {
      for await (const _ of lines("/api/tab")) { /* a beat */ }
    } catch { return; }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

render(html`<${Page} />`, document.getElementById("page"));
