// Links the rows of a tree to the bytes of their hex, in a file without a server.
"use strict";
(() => {
  const WIDTH = 16, HEAD = 10;
  const light = (row) => {
    if (!globalThis.Highlight) return;
    const ranges = [];
    const pane = row && document.getElementById(`hex${row.dataset.b}`);
    if (pane && pane.firstChild) {
      const text = pane.firstChild, lines = text.data.split("\n"), starts = [0];
      for (const line of lines) starts.push(starts[starts.length - 1] + line.length + 1);
      const from = Number(row.dataset.o) - Number(pane.dataset.start), to = from + Number(row.dataset.l);
      for (let at = Math.max(from, 0); at < to && at < lines.length * WIDTH;) {
        const line = Math.floor(at / WIDTH), column = at % WIDTH, count = Math.min(to - at, WIDTH - column);
        const made = document.createRange(), base = starts[line] + HEAD + column * 3;
        made.setStart(text, Math.min(base, text.length));
        made.setEnd(text, Math.min(base + count * 3 - 1, starts[line + 1] - 1, text.length));
        ranges.push(made);
        at += count;
      }
    }
    CSS.highlights.set("lit", new Highlight(...ranges));
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => { const row = event.target.closest("[data-b]"); if (row) light(row); });
  document.addEventListener("keydown", (event) => {
    const row = document.activeElement.closest("[data-b]");
    const next = row && { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, j: row.nextElementSibling, k: row.previousElementSibling }[event.key];
    if (next && next.focus) { next.focus(); event.preventDefault(); }
  });
})();
