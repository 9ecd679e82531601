// What nearly every module needs, by one import.
export * from "./vendor/preact-htm.js";
export * from "./app/api.js";
export * from "./app/format.js";
export * from "./app/router.js";
export * from "./components/states.js";
