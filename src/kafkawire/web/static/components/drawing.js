// Drawings of the server, made into nodes.
import { h, useEffect, useState } from "../vendor/preact-htm.js";

/** An element of the server: its tag, its attributes and its children. @param {[string, any, any[]]|string} one */
export const drawn = (one) => (typeof one === "string" ? one : h(one[0], one[1], one[2].map(drawn)));

/** The width of the window, which drawings are asked for. */
export function useWidth() {
  const [width, setWidth] = useState(innerWidth);
  useEffect(() => {
    let timer = 0;
    const resized = () => { clearTimeout(timer); timer = setTimeout(() => setWidth(innerWidth), 150); };
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  return width;
}
