// The tree of a document as far as it is loaded: levels arrive when they are opened, long ones in windows.

/**
 * A row of the server, with what the page knows about it.
 * @typedef {{id: string, n: string, o: number, l: number, t: string, v: string, b: string, k: number, p: string,
 *   x?: string, d?: string, h?: boolean, u?: number, f?: {o: number, expected: string, found: string}, c?: Node[],
 *   kids?: Map<number, Node>, open?: boolean, up?: Node, depth?: number}} Node
 * @typedef {{node?: Node, fault?: Node, gap?: {parent: Node, start: number, count: number}, depth: number}} Line
 */

const WINDOW = 200;

export class TreeModel {
  /** @param {Node[]} rows @param {(node: string, start: number, count: number) => Promise<Node[]>} load */
  constructor(rows, load) {
    this.load = load;
    this.roots = rows.map((row) => this.adopt(row, undefined));
    /** @type {Map<string, Node>} */
    this.byId = new Map();
    this.roots.forEach((root) => this.index(root));
    for (const root of this.roots) root.open = Boolean(root.kids.size) || rows.length < 40;
  }

  /** @param {Node} row @param {Node|undefined} up @returns {Node} */
  adopt(row, up) {
    row.up = up;
    row.depth = up ? up.depth + 1 : 0;
    row.kids = new Map();
    (row.c ?? []).forEach((child, number) => row.kids.set(number, this.adopt(child, row)));
    row.open = row.kids.size > 0 && row.depth < 40;
    delete row.c;
    return row;
  }

  /** @param {Node} node */
  index(node) {
    this.byId.set(node.id, node);
    for (const child of node.kids.values()) this.index(child);
  }

  /** Load some children that are missing. @param {Node} node @param {number} start */
  async fill(node, start = 0) {
    const rows = await this.load(node.id, start, WINDOW);
    rows.forEach((row, number) => {
      if (node.kids.has(start + number)) return;
      const child = this.adopt(row, node);
      node.kids.set(start + number, child);
      this.index(child);
    });
  }

  /** @param {Node} node */
  async open(node) {
    if (!node.k) return;
    if (!node.kids.size) await this.fill(node);
    node.open = true;
  }

  /** Open the levels down to a node. @param {Node[]} chain rows from the outermost to the node */
  async reveal(chain) {
    let node;
    for (const row of chain) {
      const steps = row.id.split(".");
      const number = Number(steps.at(-1));
      if (!this.byId.has(row.id) && node) await this.fill(node, Math.max(0, number - WINDOW / 2));
      if (node) node.open = true;
      node = this.byId.get(row.id);
    }
    return node;
  }

  /** The lines in sight of a person who scrolls: open nodes, faults below their nodes, gaps of long levels. @returns {Line[]} */
  lines() {
    /** @type {Line[]} */
    const lines = [];
    const add = (node) => {
      lines.push({ node, depth: node.depth });
      if (node.f) lines.push({ fault: node, depth: node.depth });
      if (!node.open || !node.k) return;
      let next = 0;
      for (const number of [...node.kids.keys()].sort((a, b) => a - b)) {
        if (number > next) lines.push({ gap: { parent: node, start: next, count: number - next }, depth: node.depth + 1 });
        add(node.kids.get(number));
        next = number + 1;
      }
      if (next < node.k) lines.push({ gap: { parent: node, start: next, count: node.k - next }, depth: node.depth + 1 });
    };
    const alone = this.roots.length === 1;
    for (const root of this.roots) {
      if (alone) root.open = true;
      add(root);
    }
    return lines;
  }

  /** The deepest loaded node at a byte. @param {string} buffer @param {number} offset @returns {Node|undefined} */
  at(buffer, offset) {
    const inside = (node) => node.b === buffer && node.o <= offset && offset < node.o + node.l;
    let node = buffer.startsWith("b") ? this.roots.find(inside) : this.byId.get(buffer);
    while (node) {
      const next = [...node.kids.values()].find(inside);
      if (!next) break;
      node = next;
    }
    return node;
  }
}
