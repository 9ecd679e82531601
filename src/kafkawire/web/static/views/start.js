// The start: paste or drop bytes, drop a capture, connect to a broker.
import { go, html, link, post, upload, useState } from "../lib.js";
import { openText } from "./bytes/opening.js";

const SAMPLES = [
  ["a request", "0000000c001200000000000100026d65"],
  ["a batch of records", "00000000000000000000004700000000026b0f2ab900000000000100000199b2f3a8000000000199b2f3a864ffffffffffffffffffffffffffff000000021e00000006 6b65790a68656c6c6f00 1a00c8010206 6b65790a776f726c6400"],
  ["a damaged request", "0000001e00030009000000070002 6d650002 000000000000 2c6f7264657273000100 00"],
];

/** @param {{about: any}} props */
export function StartView({ about }) {
  const [text, setText] = useState("");
  const [over, setOver] = useState(false);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState("");

  const open = async (bytes) => {
    setWrong("");
    if (!bytes.trim()) return setWrong("Paste some bytes first: hex in any form, a dump of xxd or tcpdump, Python bytes, base64.");
    return openText(bytes);
  };
  const take = async (files) => {
    for (const file of files) {
      setBusy(`Reading ${file.name}`);
      try {
        const kept = await upload(file);
        if (kept.kind === "capture") {
          const source = await post("/api/captures", { upload: kept.upload });
          dispatchEvent(new Event("sources"));
          go(link([source.id, "exchanges"]));
        } else go(link(["bytes"], { upload: kept.upload }));
      } catch (error) {
        setWrong(error.message);
      }
      setBusy("");
    }
  };
  const connect = async (event) => {
    event.preventDefault();
    const servers = new FormData((event.target)).get("servers");
    setBusy(`Connecting to ${servers}`);
    setWrong("");
    try {
      const source = await post("/api/brokers", { servers });
      dispatchEvent(new Event("sources"));
      go(link([source.id, "topics"]));
    } catch (error) {
      setWrong(error.message);
    }
    setBusy("");
  };

  return html`<div tabindex="0" class="scrolls"><div class="sheet start">
    <section class="card"><form onSubmit=${(event) => { event.preventDefault(); open(text); }}>
      <h1>What is in these bytes?</h1>
      <p class="soft">Paste hex in any form, a packet dump or base64. Or drop a file here: bytes, a log segment, a capture.</p>
      <textarea class=${`paste${over ? " over" : ""}`} aria-label="Bytes" placeholder="0000000c 0012 0000 00000001 0002 6d65" value=${text} autofocus spellcheck="false"
        onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) open(text); }}
        onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)}
        onDrop=${(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer.files); }}></textarea>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      <div class="tools flat"><button class="main">Explain <kbd class="wide">Ctrl Enter</kbd></button>
        <label class="button">Choose a file<input class="hidden" type="file" multiple onChange=${(event) => take(event.target.files)} /></label>
        <span class="soft" role="status">${busy ? `${busy}…` : ""}</span><span class="grow"></span>
        <span class="soft">Try ${SAMPLES.map(([name, hex], at) => html`${at ? ", " : ""}<a href=${link(["bytes"], { hex: hex.replaceAll(" ", "") })}>${name}</a>`)}</span></div>
    </form></section>
    <div class="pair">
      <section class="card"><form onSubmit=${connect}><h2>Look at a broker</h2>
        <p class="soft">Topics, messages and groups. ${about.write ? "Changes are allowed." : "Nothing is changed; start with --write to allow it."}</p>
        <div class="tools flat"><input name="servers" class="grow" aria-label="Bootstrap servers" placeholder="localhost:9092" required /><button>Connect</button></div></form></section>
      <section class="card"><h2>Look at files</h2>
        <p class="soft">The command line opens captures, log directories and the output of a pipeline:</p>
        <pre>kafkawire ui traffic.pcapng\nkafkawire ui /var/lib/kafka/data\nkafkawire proxy --listen 9093 --upstream localhost:9092 --ui</pre></section>
    </div>
    ${about.sources.length > 0 && html`<section><h2>Open now</h2><ul class="sources">${about.sources.map((each) => html`<li key=${each.id}><a href=${link([each.id, ...(each.first ?? [])])}>${each.title}</a> <span class="soft">${each.text ?? ""}</span></li>`)}</ul></section>`}
  </div></div>`;
}
