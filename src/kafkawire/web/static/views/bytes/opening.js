// What a place names as bytes: the body of the request that opens them, and links that carry small bytes themselves.
import { go, link, upload } from "../../lib.js";

const SMALL = 2048;
const LARGEST = 65536;
const ASKED = ["kind", "api", "message", "topic"];

/** @param {import("../../app/router.js").Place} place @param {string} [prefix] of the names, for one of two sides */
export async function bodyOf(place, prefix = "") {
  const { parts, query } = place;
  /** @type {Record<string, any>} */
  const body = {};
  for (const name of ASKED) if (query[prefix + name]) body[name] = query[prefix + name];
  if (query[`${prefix}version`]) body.version = Number(query[`${prefix}version`]);
  const side = prefix ? (query[`${prefix}item`] ?? "").split("/") : parts.slice(1);
  if (query[`${prefix}hex`]) return { ...body, text: query[`${prefix}hex`] };
  if (query[`${prefix}z`]) return { ...body, text: await inflate(query[`${prefix}z`]) };
  if (query[`${prefix}upload`]) return { ...body, upload: query[`${prefix}upload`] };
  if (side[0] === "given") return { ...body, given: true };
  if (side[0]) return { ...body, source: side[0], item: side.slice(1).join("/") };
  return { ...body, text: "" };
}

/** The query that names bytes on one side of a comparison. @param {import("../../app/router.js").Place} place @param {string} prefix */
export function sideOf({ parts, query }, prefix) {
  const side = Object.fromEntries([...ASKED, "version", "hex", "z", "upload"].filter((name) => query[name]).map((name) => [prefix + name, query[name]]));
  if (parts.length > 1) side[`${prefix}item`] = parts.slice(1).join("/");
  return side;
}

/** The values of a link that carry a text: as it is if it is short, else packed. @param {string} text */
export async function packed(text) {
  const compact = /^[\s0-9a-fA-F]*$/.test(text) ? text.replace(/\s+/g, "") : text;
  if (compact.length <= SMALL) return { hex: compact };
  if (compact.length > LARGEST * 2) return null;
  const stream = new Blob([compact]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let at = 0; at < data.length; at += 8192) binary += String.fromCharCode(...data.subarray(at, at + 8192));
  return { z: btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "") };
}

/** @param {string} text */
async function inflate(text) {
  const data = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

/** @param {string} text @param {Record<string, any>} [options] */
export async function linkToBytes(text, options = {}) {
  const known = await packed(text);
  return known ? link(["bytes"], { ...known, ...options }) : null;
}

/** Show bytes that a person gave as text: in a link if they fit, else uploaded. @param {string} text @param {Record<string, any>} [options] */
export async function openText(text, options = {}) {
  const target = await linkToBytes(text, options);
  go(target ?? link(["bytes"], { upload: (await upload(new File([text], "pasted.hex"))).upload, ...options }));
}
