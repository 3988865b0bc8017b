// Where feature rows come from, how old what is read is, and which rank the others wait for.
import { frame, line, pathOf, text } from "../lib/chart.js";
import { partColor } from "../lib/color.js";
import { chip, el, svg, table } from "../lib/dom.js";
import { count, fixed, number, percent, tick } from "../lib/format.js";
import { rows as rowsOf } from "../lib/patch.js";

const HEIGHT = 128;
const BAR = 14;
const named = (mark, name, title) => el("span", { class: "wb-name", title }, mark, name);
const ranked = ({ rank, part }) => named(chip(partColor(rank)), part === null || part === undefined ? `Rank ${rank}` : `Rank ${rank}, part ${part}`);
const empty = (panel, words) => panel.body.replaceChildren(el("p", { class: "sec" }, words));
const widthOf = (panel, room) => Math.floor(panel.body.getBoundingClientRect().width) || Math.min(room, 460);
const note = (words) => el("p", { class: "db-note" }, words);

export function cache(panel, view, progress, room) {
  if (!panel.node.open) return;
  if (!view.rows.length) return empty(panel, "Every feature row is read where it lies; no cache is used.");
  const heads = ["Rank", { text: "Own", num: true, title: "Rows that the rank owns, a step" }, { text: "Cached", num: true, title: "Rows of others that a cache held, a step" },
    { text: "Fetched", num: true, title: "Rows fetched from others, a step" }, { text: "Hit ratio", num: true, title: "Cached of all rows that the rank does not own" }];
  const body = view.rows.map((row) => [ranked(row), count(row.num_local), count(row.num_cached), count(row.num_remote), fixed(row.hit_ratio)]);
  panel.body.replaceChildren(...[
    view.cached ? ratioChart(view, progress, widthOf(panel, room)) : null,
    table(heads, body, { label: "Feature rows a step by where they were found" }),
    note("Rows a step, mean of the last 20 steps of a rank."),
  ].filter(Boolean));
}

function ratioChart(view, progress, width) {
  const last = Math.max(progress.num_steps, progress.furthest, 1);
  const { node, X, Y, plot, inner } = frame({ width, height: HEIGHT, x: { range: [0, last], title: `step ${tick(last)}` }, y: { range: [0, 1], title: "hit ratio, of rows not owned" }, label: "Cache hit ratio by step", margin: { left: 36, right: 64, top: 24 } });
  for (const mark of progress.marks) plot.append(line(X(mark.step), inner.top, X(mark.step), inner.bottom, { stroke: "var(--wb-mark)", dash: "2 2" }));
  let lowest = -Infinity;
  const ends = Object.entries(view.points).map(([rank, points]) => ({ rank: Number(rank), points: rowsOf(points) })).filter(({ points }) => points.length);
  for (const { rank, points } of ends) plot.append(svg("path", { d: pathOf(points.map((row) => [row[0], row[1]]), X, Y), fill: "none", stroke: partColor(rank), "stroke-width": 1.5 }, svg("title", {}, `rank ${rank}`)));
  for (const { rank, points } of ends.sort((a, b) => b.points.at(-1)[1] - a.points.at(-1)[1])) {
    const y = Math.max(Y(points.at(-1)[1]) + 4, lowest + 12);
    lowest = y;
    if (y < inner.bottom + 12) plot.append(text(X(points.at(-1)[0]) + 6, y, `rank ${rank}`, { fill: partColor(rank) }));
  }
  return node;
}

export function staleness(panel, view, room) {
  if (!panel.node.open) return;
  if (!view.rows.length) return empty(panel, "Every read is of the same step: the strategy is synchronous.");
  panel.body.replaceChildren(...view.rows.flatMap((row) => [ages(row, widthOf(panel, room)), note(told(row))]));
}

/** How many rows of each age were read in the last steps, and where the bound is. */
function ages(row, width) {
  const most = Math.max(...row.bars, 1);
  const many = row.bars.length;
  const total = row.bars.reduce((a, b) => a + b, 0) || 1;
  const end = Math.max(many, (row.bound ?? 0) + 1, 4);
  const { node, X, Y, plot, inner } = frame({ width, height: HEIGHT, x: { range: [-0.5, end - 0.5], title: "age, steps", ticks: Array.from({ length: end }, (_, i) => i).filter((i) => end < 12 || i % 4 === 0) },
    y: { range: [0, most / total], title: `${row.name}: share of rows by age`, ticks: [0, most / total], format: (value) => percent(value) }, label: `${row.name} by age in steps`, margin: { left: 40, right: 8, top: 24 } });
  const step = X(1) - X(0);
  const room = Math.min(step * 0.7, 48);
  row.bars.forEach((n, age) => {
    if (!n) return;
    const beyond = row.bound !== null && age > row.bound;
    plot.append(svg("rect", { x: X(age) - room / 2, y: Y(n / total), width: room, height: inner.bottom - Y(n / total), rx: 1, style: { fill: beyond ? "var(--wb-failed)" : "var(--wb-phase-exchange)" } }, svg("title", {}, `${count(n)} rows ${age}${age === many - 1 && row.oldest > age ? " or more" : ""} steps old`)));
  });
  if (row.bound !== null && row.bound < end) {
    const x = X(row.bound) + step / 2 - 1;
    plot.append(line(x, inner.top - BAR / 2, x, inner.bottom, { stroke: "var(--wb-ink)", dash: "3 2" }), text(x - 4, inner.top - 2, `bound ${row.bound}`, { anchor: "end", cls: "ink" }));
  }
  return node;
}

function told(row) {
  const cold = row.num_cold ? ` ${count(row.num_cold)} rows were read before they were ever written: zeros.` : row.total_cold ? ` Rows never written were read as zeros up to step ${count(row.last_cold_step)}.` : "";
  const beyond = row.beyond ? ` ${count(row.beyond)} reads were older than the bound: a fault of the strategy.` : "";
  return `Last 20 steps. The oldest row ever read was ${number(row.oldest)} ${row.oldest === 1 ? "step" : "steps"} old.${beyond}${cold}`;
}

export function stragglers(panel, view) {
  if (!view.rows.length) return empty(panel, "No step finished yet.");
  if (view.rows.length < 2) return empty(panel, "One rank: it waits for nobody.");
  const most = Math.max(...view.rows.map((row) => Math.abs(row.late_ms)), 1e-9);
  const heads = ["Rank", { text: "Last in", num: true, title: `Of the last ${view.num_steps} steps: in how many it was the last to be ready` }, { text: "Late, a step", width: "20%", title: "Right: the others waited for it; left: it waited for the others" },
    { text: "ms", num: true }, { text: "Edges", num: true, title: "Of its batch, mean" }, { text: "Compute", num: true, title: "Milliseconds of forward, backward and update a step" }];
  const body = view.rows.flatMap((row) => {
    const share = row.late_ms / most;
    const bar = el("span", { class: "wb-bar db-plain" }, el("i", { style: { left: `${50 * (1 + Math.min(0, share))}%`, width: `${50 * Math.abs(share)}%`, "--c": row.why ? "var(--wb-mark)" : "var(--wb-hatch)" } }), el("u", { style: { left: "50%" } }));
    const cells = el("tr", {}, el("td", { title: [row.worker, row.host].filter(Boolean).join(", ") }, ranked(row)), el("td", { class: "num" }, `${row.last_in} of ${view.num_steps}`), el("td", {}, bar), el("td", { class: "num" }, number(row.late_ms).replace("-", "−")), el("td", { class: "num" }, count(row.num_edges)), el("td", { class: "num" }, number(row.compute_ms)));
    return row.why ? [cells, el("tr", { class: "db-why" }, el("td", { colspan: heads.length }, `It ${row.why}.`))] : [cells];
  });
  panel.body.replaceChildren(table(heads, body, { label: "How late each rank is" }));
}
