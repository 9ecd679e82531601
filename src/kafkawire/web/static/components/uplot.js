// uPlot as a module: the vendored file is a script that sets one global name.
const script = document.querySelector("script[data-uplot]");
if (!globalThis.uPlot) await new Promise((resolve) => script.addEventListener("load", resolve, { once: true }));
export const uPlot = globalThis.uPlot;
