// The tree: field, type, value; one row per node. Arrow keys walk, open and close it.
import { html } from "../vendor/preact-htm.js";
import { Rows } from "./rows.js";

/** @typedef {import("./treemodel.js").Node} Node @typedef {import("./treemodel.js").Line} Line */

/**
 * @param {{lines: Line[], cursor: number, lit?: string, label: string, onCursor: (index: number) => void,
 *   onToggle: (node: Node, open?: boolean) => void, onGap: (gap: Line["gap"]) => void,
 *   onHover: (node: Node|undefined) => void, onKey?: (event: KeyboardEvent) => boolean|void}} props
 */
export function Tree(props) {
  const { lines, cursor } = props;

  const key = (event) => {
    if (props.onKey?.(event)) return true;
    const line = lines[cursor];
    if (!line) return false;
    const { node, gap } = line;
    if (event.key === "ArrowRight" || event.key === "l") {
      if (gap) props.onGap(gap);
      else if (node?.k && !node.open) props.onToggle(node, true);
      else if (node?.k) props.onCursor(cursor + 1);
      return true;
    }
    if (event.key === "ArrowLeft" || event.key === "h") {
      const own = node ?? line.fault ?? gap?.parent;
      if (node?.open && node.k) props.onToggle(node, false);
      else {
        const up = line.node ? own.up : own;
        const at = lines.findIndex((each) => each.node === up);
        if (at >= 0) props.onCursor(at);
      }
      return true;
    }
    if (event.key === "Enter" || event.key === " ") {
      if (gap) props.onGap(gap);
      else if (node?.k) props.onToggle(node);
      return true;
    }
    return false;
  };

  const row = (index) => {
    const line = lines[index];
    const indent = { "--depth": line.depth };
    const common = { role: "treeitem", id: `tree-${index}`, key: index, "aria-level": line.depth + 1, "aria-selected": index === cursor };
    const chosen = index === cursor ? " cursor" : "";
    if (line.gap) {
      return html`<div ...${common} class="row leafy gap${chosen}" style=${indent}
        onClick=${() => { props.onCursor(index); props.onGap(line.gap); }}>… ${line.gap.count} more</div>`;
    }
    if (line.fault) {
      const fault = line.fault.f;
      return html`<div ...${common} class="row leafy faulty${chosen}" style=${indent} title=${faultText(fault)}
        onClick=${() => props.onCursor(index)}><span class="chip error">fault</span>
        <span class="wrong cut">at ${fault.o}: expected ${fault.expected}, found ${fault.found}</span></div>`;
    }
    const node = line.node;
    const opens = node.k > 0;
    return html`<div ...${common} class="row leafy${chosen}${node.id === props.lit ? " lit" : ""}${node.f ? " bad" : ""}${node.h ? " framing" : ""}"
        aria-expanded=${opens ? Boolean(node.open) : undefined} data-node=${node.id} style=${indent}
        onMouseEnter=${() => props.onHover(node)} onMouseLeave=${() => props.onHover(undefined)}
        onClick=${() => props.onCursor(index)} onDblClick=${() => opens && props.onToggle(node)}>
      <span class="name"><span class="twist" aria-hidden="true"
        onClick=${(event) => { if (opens) { event.stopPropagation(); props.onCursor(index); props.onToggle(node); } }}>${opens ? (node.open ? "▾" : "▸") : ""}</span>${node.n || "frame"}</span>
      <span class="value" title=${node.x ? `${node.v} (${node.x})` : node.v}>${valueOf(node)}</span>
      <span class="type">${node.t}</span>
      <span class="at">${node.l ? node.o : ""}</span>
    </div>`;
  };

  return html`<${Rows} count=${lines.length} row=${row} height=${24} label=${props.label} role="tree" id="tree"
    cursor=${cursor} onCursor=${props.onCursor} onKey=${key} focused=${true} />`;
}

/** @param {{o: number, expected: string, found: string}} fault */
export const faultText = (fault) => `expected ${fault.expected}, found ${fault.found} at offset ${fault.o}`;

/** @param {Node} node */
function valueOf(node) {
  const kind = node.v.startsWith('"') || node.v.startsWith('b"') ? "string" : node.v === "null" ? "null" : "";
  const note = node.x ? html`<span class="note">${node.x}</span>` : null;
  return html`<span class=${kind}>${node.v}</span>${note}`;
}
