// A page of cards, with tables and facts on them.
import { html } from "../vendor/preact-htm.js";

export const Sheet = ({ children }) => html`<div tabindex="0" class="scrolls"><div class="sheet">${children}</div></div>`;

export const Card = ({ title, children }) => html`<section class="card">${title && html`<h2>${title}</h2>`}${children}</section>`;

const side = (head) => (head?.[0] === ">" ? "right" : undefined);

/** A table, or a sentence if it has no rows. Heads of columns of numbers begin with `>`. @param {{heads?: string[], rows: any[][], empty?: any}} props */
export const Table = ({ heads, rows, empty }) => (rows.length ? html`<table class="plain">
  ${heads && html`<thead><tr>${heads.map((head) => html`<th class=${side(head)}>${head.replace(">", "")}</th>`)}</tr></thead>`}
  <tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => html`<td class=${side(heads?.[at])} data-head=${heads?.[at].replace(">", "")}>${cell}</td>`)}</tr>`)}</tbody></table>` : html`<p class="soft">${empty}</p>`);

/** Names with their values; those without a value are left out. @param {{facts: [string, any][]}} props */
export const Facts = ({ facts }) => html`<dl class="facts">${facts.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

const TONES = { added: "good", removed: "error", changed: "warning", Stable: "good" };

/** @param {{tone?: string, children: any}} props */
export const Chip = ({ tone, children }) => html`<span class=${`chip ${tone ?? TONES[children] ?? ""}`}>${children}</span>`;
