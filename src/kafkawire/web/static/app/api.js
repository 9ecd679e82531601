// Requests to the server. Each carries the token; an error becomes a Failure with the text of the server.

/** @typedef {Record<string, string|number|boolean|null|undefined>} Params */

/** An answer that is not a success; `column` is the place in what the user typed. */
export class Failure extends Error {
  /** @param {string} text @param {number} status @param {number} [column] */
  constructor(text, status, column) {
    super(text);
    this.status = status;
    this.column = column;
  }
}

/** @param {string} path @param {Params} [params] */
const address = (path, params = {}) => {
  const known = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
};

/** @param {string} url @param {RequestInit} [options] @returns {Promise<Response>} */
async function ask(url, options = {}) {
  const headers = new Headers(options.headers);
  headers.set("authorization", `Bearer ${sessionStorage.getItem("token") ?? ""}`);
  let response;
  try {
    response = await fetch(url, { ...options, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Failure("the server does not answer; start the command again and open its address", 0);
  }
  if (response.ok) return response;
  let said = {};
  try {
    said = await response.json();
  } catch { /* the status is all that is known */ }
  throw new Failure(said.error ?? `the server answered ${response.status}`, response.status, said.column);
}

/** @param {string} path @param {Params} [params] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = async (path, params, signal) => (await ask(address(path, params), { signal })).json();

/** @param {string} path @param {object} body @param {AbortSignal} [signal] @returns {Promise<any>} */
export const post = async (path, body, signal) => (await ask(path, {
  method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal,
})).json();

/** @param {string} path @param {Params} [params] @returns {Promise<Uint8Array>} */
export const octets = async (path, params) => new Uint8Array(await (await ask(address(path, params))).arrayBuffer());

/** @param {File} file @returns {Promise<{upload: string, name: string, size: number, kind: string}>} */
export const upload = async (file) => (await ask("/api/uploads", {
  method: "POST", body: file,
  headers: { "content-type": "application/octet-stream", "x-file-name": encodeURIComponent(file.name) },
})).json();

/**
 * The objects of a stream, one per line, until it ends or is aborted.
 * @param {string} path @param {{params?: Params, body?: object, signal?: AbortSignal}} options
 * @returns {AsyncGenerator<any>}
 */
export async function* lines(path, { params, body, signal } = {}) {
  const options = body
    ? { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal }
    : { signal };
  const response = await ask(address(path, params), options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Start a download by a link that is valid once. @param {string} path @param {Params} [params] */
export async function download(path, params) {
  const { href } = await post("/api/ticket", { path: address(path, params) });
  const link = document.createElement("a");
  link.href = href;
  link.download = "";
  link.click();
}
