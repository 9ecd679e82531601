// Numbers, sizes, times and durations as text. Times are absolute, with milliseconds, in UTC unless switched.

/** @param {number} value */
export const number = (value) => Number(value).toLocaleString("en", { maximumFractionDigits: 1 }).replaceAll(",", "\u202f");

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

/**
 * Microseconds since 1970, as text or number, as date and time.
 * @param {string|number|null} us @param {"full"|"time"} [form]
 */
export function moment(us, form = "full") {
  if (us === null || us === undefined || us === "") return "";
  const ms = Number(BigInt(us) / 1000n), date = new Date(ms);
  if (Number.isNaN(date.getTime())) return String(us);
  const [day, time] = new Date(zone.local ? ms - date.getTimezoneOffset() * 60000 : ms).toISOString().slice(0, -1).split("T");
  return form === "time" ? time : `${day} ${time}`;
}

/** How long ago, as a hint. @param {string} us */
export function age(us) {
  const seconds = Math.round(Date.now() / 1000 - Number(us) / 1e6);
  return seconds < 0 ? "in the future" : `${duration(seconds * 1e6)} ago`;
}

/** Microseconds of what a person types: a time of the day of `near`, or a date with a time. @param {string} text @param {string} near */
export function typedTime(text, near) {
  const day = new Date(Number(BigInt(near ?? 0) / 1000n)).toISOString().slice(0, 10);
  const full = /^\d{1,2}:\d\d/.test(text) ? `${day}T${text.padStart(text.indexOf(":") === 1 ? text.length + 1 : 0, "0")}` : text.replace(" ", "T");
  const found = Date.parse(zone.local || /Z|[+-]\d\d:?\d\d$/.test(full) ? full : `${full}Z`);
  return Number.isNaN(found) ? undefined : found * 1000;
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
