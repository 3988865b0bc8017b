// A panel that nobody drew a picture for, as one of another package: its verdict, and its rows or values as a table.
import { el, table } from "../lib/dom.js";
import { number } from "../lib/format.js";

const HEADER = new Set(["line", "title", "verdict", "rows"]); // these have a place of their own
const words = (name) => name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
const plainText = (value) => (typeof value === "number" ? number(value, 4) : typeof value === "boolean" ? (value ? "yes" : "no") : String(value ?? "–"));
const isPlain = (value) => value === null || ["number", "string", "boolean"].includes(typeof value);

export const titleOf = (name, view) => view.title ?? words(name);

export function plain(panel, view) {
  const rows = Array.isArray(view.rows) ? view.rows.filter((row) => row !== null && typeof row === "object") : [];
  const values = Object.entries(view).filter(([key, value]) => !HEADER.has(key) && isPlain(value));
  panel.body.replaceChildren(...[
    view.verdict ? el("p", {}, el("b", {}, String(view.verdict))) : null,
    rows.length ? rowsTable(rows, panel) : null,
    values.length ? table(["", { text: "", num: true }], values.map(([key, value]) => [words(key), plainText(value)]), { label: panel.heading.textContent }) : null,
    rows.length || values.length || view.verdict ? null : el("p", { class: "sec" }, view.line ?? "Nothing yet."),
  ].filter(Boolean));
}

function rowsTable(rows, panel) {
  const keys = [...new Set(rows.flatMap(Object.keys))].filter((key) => rows.every((row) => isPlain(row[key] ?? null)));
  const heads = keys.map((key) => ({ text: Array.isArray(rows[0]) ? "" : words(key), num: rows.every((row) => typeof (row[key] ?? 0) === "number") }));
  return table(heads, rows.map((row) => keys.map((key) => plainText(row[key]))), { label: panel.heading.textContent });
}
