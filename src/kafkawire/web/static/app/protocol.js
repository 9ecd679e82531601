// The names of the protocol: APIs, messages, errors. Asked for once.
import { get } from "./api.js";

/** @type {Promise<any>|null} */
let asked = null;

/** @returns {Promise<{apis: {key: number, name: string, request: number[], response: number[]}[], messages: string[], errors: any[]}>} */
export function protocol() {
  asked ??= get("/api/protocol").catch((error) => { asked = null; throw error; });
  return asked;
}
