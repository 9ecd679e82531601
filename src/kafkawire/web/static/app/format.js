// Numbers, sizes, times and durations as text. Times are absolute, with milliseconds, in UTC unless switched.

/** @param {number} value */
export const number = (value) => Number(value).toLocaleString("en", { maximumFractionDigits: 1 }).replaceAll(",", "\u202f");

/** Digits in groups; the text keeps all of them. @param {string|number|null} value */
export const digits = (value) => (value === null || value === undefined ? "" : String(value));

/** @param {number} value */
export function bytes(value) {
  if (value === null || value === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < 4) { value /= 1024; unit += 1; }
  return unit ? `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}` : `${value} B`;
}

/** Microseconds as a duration. @param {number|null} us */
export function duration(us) {
  if (us === null || us === undefined) return "";
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : 1)} ms`;
  if (us < 6e7) return `${(us / 1e6).toFixed(2)} s`;
  const seconds = Math.round(us / 1e6);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export const zone = {
  get local() { return localStorage.getItem("zone") === "local"; },
  set local(value) { localStorage.setItem("zone", value ? "local" : "utc"); },
};

/** @param {number} value @param {number} [width] */
const two = (value, width = 2) => String(value).padStart(width, "0");

/**
 * Microseconds since 1970, as text or number, as date and time.
 * @param {string|number|null} us @param {"full"|"time"} [form]
 */
export function moment(us, form = "full") {
  if (us === null || us === undefined || us === "") return "";
  const exact = BigInt(us);
  const date = new Date(Number(exact / 1000n));
  if (Number.isNaN(date.getTime())) return String(us);
  const part = zone.local
    ? [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds(), date.getMilliseconds()]
    : [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), date.getUTCMilliseconds()];
  const time = `${two(part[3])}:${two(part[4])}:${two(part[5])}.${two(part[6], 3)}`;
  return form === "time" ? time : `${part[0]}-${two(part[1])}-${two(part[2])} ${time}`;
}

/** How long ago, as a hint. @param {string|number|null} us */
export function age(us) {
  if (us === null || us === undefined || us === "") return "";
  const seconds = Math.round(Date.now() / 1000 - Number(BigInt(us) / 1000000n));
  if (seconds < 0) return "in the future";
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
