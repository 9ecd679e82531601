for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const numeric = head.classList.contains("right") || head.classList.contains("moment");
    const now = head.getAttribute("aria-sort");
    const up = now ? now === "descending" : !numeric;
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value;
    const body = table.tBodies[0];
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === y) return 0;
      if (x === "") return 1;
      if (y === "") return -1;
      const before = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
      return up ? before : -before;
    };
    body.append(...[...body.rows].sort(order));
  }));
}
