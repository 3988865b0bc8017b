// The curves of runs over one another, and the Pareto plot of the best value against its cost.
import { frame, line, niceRange, pathOf, text } from "../lib/chart.js";
import { partColor } from "../lib/color.js";
import { svg } from "../lib/dom.js";
import { bytes, count, number, seconds, tick } from "../lib/format.js";
import { rows } from "../lib/patch.js";

export const AXES = [["step", "Steps"], ["epoch", "Epochs"], ["elapsed_s", "Seconds"], ["bytes", "Bytes"]];
export const AXIS_TITLE = { step: "step", epoch: "epoch", elapsed_s: "seconds of training", bytes: "moved, all ranks" };
export const told = { step: count, epoch: count, elapsed_s: seconds, bytes };
const COLUMN = { step: 0, epoch: 1, elapsed_s: 2, bytes: 3 };
const VALUE = 4;
const HEIGHT = 260;
const MANY = 40;
const dashOf = (run) => (run < 8 ? null : run < 16 ? "6 3" : "2 2"); // colours come again after eight

/** Returns {node, hover(run)}: the curves of a metric over an axis; `show(words)` hears what the pointer is at. */
export function curves(snapshot, metric, axis, target, width, show) {
  const runs = snapshot.runs.map((run, i) => ({ i, name: run.run, points: rows(run.points[metric.name]) }));
  const at = COLUMN[axis];
  const last = Math.max(...runs.flatMap(({ points }) => points.map((row) => row[at])), 1e-9);
  const y = niceRange([...runs.flatMap(({ points }) => points.map((row) => row[VALUE])), target]);
  const { node, X, Y, plot, inner } = frame({ width, height: HEIGHT, x: { range: [0, last], title: AXIS_TITLE[axis], format: axis === "bytes" ? bytes : tick }, y: { range: y, title: metric.title },
    label: `${metric.title} by ${axis} of ${runs.length} runs`, margin: { left: 44, right: 44, top: 24 } });
  if (target !== null) plot.append(line(inner.left, Y(target), inner.right, Y(target), { stroke: "var(--wb-mark)", dash: "4 3" }), text(inner.left + 4, Y(target) - 4, `target ${number(target, 4)}`, { cls: "warn" }));
  let lowest = -Infinity;
  for (const { i, name, points } of runs) {
    if (!points.length) continue;
    plot.append(svg("path", { d: pathOf(points.map((row) => [row[at], row[VALUE]]), X, Y), fill: "none", stroke: partColor(i), "stroke-width": 2, "stroke-dasharray": dashOf(i), "stroke-linejoin": "round" }, svg("title", {}, `run ${i + 1}: ${name}`)));
    if (points.length <= MANY) for (const row of points) plot.append(svg("circle", { cx: X(row[at]), cy: Y(row[VALUE]), r: 2.5, fill: partColor(i) }));
  }
  const ends = runs.filter(({ points }) => points.length).map(({ i, points }) => ({ i, x: X(points.at(-1)[at]), y: Y(points.at(-1)[VALUE]) }));
  for (const end of ends.sort((a, b) => a.y - b.y)) {
    const place = Math.max(end.y + 4, lowest + 11);
    lowest = place;
    plot.append(text(end.x + 6, place, `run ${end.i + 1}`, { cls: "ink" }));
  }
  if (!ends.length) plot.append(text(width / 2, HEIGHT / 2, "no epoch is finished yet", { anchor: "middle" }));
  pointed(node, runs, at, axis, { X, Y, width, inner }, show);
  return node;
}

/** The nearest point of any curve is told while the pointer is over the picture. */
function pointed(node, runs, at, axis, { X, Y, width }, show) {
  const all = runs.flatMap(({ i, name, points }) => points.map((row) => ({ i, name, row, x: X(row[at]), y: Y(row[VALUE]) })));
  const mark = svg("circle", { r: 5, fill: "none", "stroke-width": 2, visibility: "hidden" });
  node.append(mark);
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect();
    const scale = width / box.width;
    const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const near = all.reduce((best, point) => { const far = Math.hypot(point.x - px, point.y - py); return far < (best?.far ?? 40) ? { ...point, far } : best; }, null);
    mark.setAttribute("visibility", near ? "visible" : "hidden");
    if (near) for (const [key, value] of [["cx", near.x], ["cy", near.y], ["stroke", partColor(near.i)]]) mark.setAttribute(key, value);
    show(near ? `Run ${near.i + 1}, ${near.name}: ${number(near.row[VALUE], 4)} at epoch ${count(near.row[1])}, step ${count(near.row[0])}, ${seconds(near.row[2])}, ${bytes(near.row[3])}` : "");
  });
  node.addEventListener("pointerleave", () => { mark.setAttribute("visibility", "hidden"); show(""); });
}

/** Best value against what it had cost; filled points are those that no other run beats in both. */
export function pareto(snapshot, metric, cost, width) {
  const points = snapshot.best[metric.name].map((row, i) => (row ? { i, x: row[cost], y: row[metric.name] } : null)).filter(Boolean);
  const sign = metric.lower ? -1 : 1;
  const dominated = (p) => points.some((q) => q.x <= p.x && sign * q.y >= sign * p.y && (q.x < p.x || sign * q.y > sign * p.y));
  const { node, X, Y, plot } = frame({ width, height: HEIGHT, x: { range: niceRange(points.map(({ x }) => x), { zero: true }), title: `${AXIS_TITLE[cost]}, to its best`, format: cost === "bytes" ? bytes : tick }, y: { range: niceRange(points.map(({ y }) => y)), title: `best ${metric.title.toLowerCase()}; filled: none is better and cheaper` },
    label: `Best ${metric.title} against its cost`, margin: { left: 44, right: 16, top: 24 } });
  const front = points.filter((p) => !dominated(p)).sort((a, b) => a.x - b.x);
  if (front.length > 1) plot.append(svg("path", { d: front.map(({ x, y }, i) => (i ? `H${X(x)}V${Y(y)}` : `M${X(x)} ${Y(y)}`)).join(""), fill: "none", stroke: "var(--wb-ink2)", "stroke-dasharray": "2 3" }));
  for (const p of points) {
    plot.append(svg("circle", { cx: X(p.x), cy: Y(p.y), r: 5, stroke: partColor(p.i), "stroke-width": 2, fill: front.includes(p) ? partColor(p.i) : "var(--wb-bg)" }, svg("title", {}, `${snapshot.runs[p.i].run}: ${number(p.y, 4)}, ${told[cost](p.x)}`)),
      text(X(p.x) + (X(p.x) > width - 60 ? -9 : 9), Y(p.y) + 4, String(p.i + 1), { anchor: X(p.x) > width - 60 ? "end" : "start", cls: "ink" }));
  }
  return node;
}
