// Loss, metric and throughput over one axis of steps, so that what happened at a step lines up; hover reads all three.
import { frame, line, niceRange, pathOf, text } from "../lib/chart.js";
import { svg } from "../lib/dom.js";
import { number, tick } from "../lib/format.js";
import { rows } from "../lib/patch.js";

const STEP = 0;
const MEAN = 1;
const LOW = 2;
const HIGH = 3;
const TONE = { warn: "var(--wb-mark)", fail: "var(--wb-failed)" };
const HEIGHT = 136;
const VISIBLE = 0.03; // of the axis: what a range must have to be seen beside a line

/** Returns the drawers of the three charts: [names of the views that they read, work]. */
export function charts(panels, viewOf, roomOf) {
  const all = {};
  const widthOf = (panel) => Math.floor(panel.body.getBoundingClientRect().width) || Math.min(roomOf(), 304);
  const show = (step) => { for (const chart of Object.values(all)) chart.hover(step); };
  const put = (name, make) => () => {
    const view = viewOf();
    if (!panels[name].node.open) return;
    all[name] = chartOf(make(view), view.progress, widthOf(panels[name]), show);
    panels[name].body.replaceChildren(all[name].node);
  };
  return [
    [["loss", "progress"], put("loss", lossChart)],
    [["metrics", "progress"], put("metrics", (view) => { panels.metrics.heading.textContent = headingOf(view.metrics); return metricChart(view); })],
    [["throughput", "progress"], put("throughput", throughputChart)],
  ];
}

const headingOf = ({ names }) => { const all = Object.values(names); return all.length > 1 ? all[0].split(" ").slice(1).join(" ").replace(/^./, (c) => c.toUpperCase()) : all[0] ?? "Validation"; };

/** The range of the loss: a single spike is drawn to the edge and named, it does not flatten the curve. */
function lossChart({ loss }) {
  const points = rows(loss.points);
  const before = rows(loss.superseded);
  const means = [...points, ...before].map((row) => row[MEAN]).sort((a, b) => a - b);
  const high = means.length ? means[Math.min(means.length - 1, Math.floor(means.length * 0.98))] : 1;
  const peak = points.reduce((a, row) => (row[HIGH] > (a?.[HIGH] ?? -Infinity) ? row : a), null);
  const y = niceRange([0, high, ...means.slice(0, Math.ceil(means.length * 0.98))]);
  const wide = points.reduce((sum, row) => sum + row[HIGH] - row[LOW], 0) > VISIBLE * (y[1] - y[0]) * points.length; // else the line hides the range
  return {
    title: `${loss.unit ? `${loss.unit}, ` : ""}mean${wide ? "; grey: range" : ""} over ranks`, label: "Training loss by step", y,
    lines: [{ points, color: "var(--wb-ink)" }], before, band: points, last: number(loss.last),
    peak: peak && peak[HIGH] > y[1] * 1.02 ? { step: peak[STEP], text: `peak ${number(peak[HIGH])}` } : null,
  };
}

function metricChart({ metrics }) {
  const names = Object.keys(metrics.points);
  const series = names.map((name) => rows(metrics.points[name]));
  const lines = series.map((points, i) => ({ points, color: i ? "var(--wb-ink2)" : "var(--wb-ink)", dots: points.length <= 40, dash: i ? "3 3" : null, name: names.length > 1 ? metrics.names[names[i]].split(" ")[0].toLowerCase() : "", hollow: i > 0 }));
  const y = niceRange(series.flat().map((row) => row[MEAN]));
  return { title: metrics.axis || "share that is right", label: "Exact metrics by epoch", y: series.flat().length ? y : [0, 1], lines, last: names.map((name) => number(metrics.last[name])), empty: "measured at the end of an epoch" };
}

function throughputChart({ throughput }) {
  const points = rows(throughput.points);
  const before = rows(throughput.superseded);
  const means = [...points, ...before].flatMap((row) => [row[MEAN], row[HIGH]]);
  return { title: "seeds/s, median of 20 steps; grey: each step", label: "Seeds a second by step", y: niceRange(means, { zero: true }), lines: [{ points, color: "var(--wb-ink)" }], before, band: points, last: throughput.last === null ? "" : number(throughput.last) };
}

function chartOf(spec, progress, width, show) {
  const last = Math.max(progress.num_steps, progress.furthest, 1);
  const none = !spec.lines.some((one) => one.points.length);
  const known = progress.num_steps > 0;
  const axes = frame({ width, height: HEIGHT, x: { range: [0, last], title: known ? `step ${tick(last)}` : "step", ticks: known ? undefined : [0] }, y: { range: spec.y, title: spec.title, ticks: none ? [] : undefined }, label: spec.label, margin: { left: 36, right: 4, top: 24 } });
  const { X, Y, plot, inner } = axes;
  const clamp = (value) => Math.max(spec.y[0], Math.min(spec.y[1], value));
  for (const mark of progress.marks) plot.append(line(X(mark.step), inner.top, X(mark.step), inner.bottom, { stroke: TONE[mark.tone], dash: "2 2" }));
  if (spec.band?.length) plot.append(svg("path", { d: bandPath(spec.band, X, (v) => Y(clamp(v))), fill: "var(--wb-ink2)", stroke: "var(--wb-ink2)", "stroke-width": 1, "stroke-linejoin": "round", opacity: 0.3 }));
  if (spec.before?.length) plot.append(svg("path", { d: pathOf(spec.before.map((r) => [r[STEP], clamp(r[MEAN])]), X, Y), fill: "none", stroke: "var(--wb-ink2)", opacity: 0.5, "stroke-width": 1.5 }, svg("title", {}, "run again after the restart")));
  if (spec.peak) plot.append(text(X(spec.peak.step) + 4, inner.top + 8, spec.peak.text, { cls: "warn" }));
  labelled(plot, spec, axes, width, clamp);
  if (none) plot.append(text((inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2, spec.empty ?? "no step finished yet", { anchor: "middle" }));
  return { node: axes.node, hover: hovering(axes, spec, width, clamp, last, show) };
}

function bandPath(points, X, Y) {
  const there = points.map((row) => `${X(row[STEP]).toFixed(1)} ${Y(row[HIGH]).toFixed(1)}`);
  const back = [...points].reverse().map((row) => `${X(row[STEP]).toFixed(1)} ${Y(row[LOW]).toFixed(1)}`);
  return `M${[...there, ...back].join("L")}Z`;
}

/** Lines with their last value: of one line at its end, of several with their names in the corner that is free. */
function labelled(plot, spec, { X, Y, inner }, width, clamp) {
  const places = [];
  [...spec.lines.entries()].reverse().forEach(([i, { points, color, dots, dash, name, hollow }]) => {
    if (!points.length) return;
    plot.append(svg("path", { d: pathOf(points.map((row) => [row[STEP], clamp(row[MEAN])]), X, Y), fill: "none", stroke: color, "stroke-width": 1.5, "stroke-linejoin": "round", "stroke-dasharray": dash }));
    if (dots) for (const row of points) plot.append(svg("circle", { cx: X(row[STEP]), cy: Y(clamp(row[MEAN])), r: hollow ? 3.5 : 2, fill: hollow ? "var(--wb-bg)" : color, stroke: color }));
    const words = [].concat(spec.last ?? "")[i] ?? "";
    places.unshift({ x: X(points.at(-1)[STEP]), y: Y(clamp(points.at(-1)[MEAN])), words: name ? `${words} ${name}` : words, cls: i ? "ink" : "lbl", color, hollow });
  });
  if (places.length > 1) { plot.append(...corner(places, inner)); return; }
  for (const { x, y, words, cls } of places) {
    const late = x > width - 8 - words.length * 7;
    if (late) plot.append(text(width - 4, y - 8 < inner.top + 4 ? y + 18 : y - 8, words, { anchor: "end", cls }));
    else plot.append(text(x + 6, y + 4, words, { cls }));
  }
}

/** Values and names with their marks: below on the right where the lines end high, else above. */
function corner(places, inner) {
  const low = places.reduce((sum, { y }) => sum + y, 0) / places.length > (inner.top + inner.bottom) / 2;
  const first = low ? inner.top + 10 : inner.bottom - 8 - 15 * (places.length - 1);
  const room = Math.max(...places.map(({ words }) => words.length)) * 6.6 + 12;
  return places.flatMap(({ words, cls, color, hollow }, i) => [
    svg("circle", { cx: inner.right - room, cy: first + 15 * i - 4, r: hollow ? 3.5 : 2.5, fill: hollow ? "var(--wb-bg)" : color, stroke: color }),
    text(inner.right - room + 8, first + 15 * i, words, { cls })]);
}

function hovering({ node, X, plot, inner }, spec, width, clamp, last, show) {
  const layer = svg("g", { class: "db-hover" });
  plot.append(layer);
  const at = (event) => {
    const box = node.getBoundingClientRect();
    const share = ((event.clientX - box.left) * (width / box.width) - inner.left) / (inner.right - inner.left);
    return share < 0 || share > 1 ? null : Math.round(share * last);
  };
  node.addEventListener("pointermove", (event) => show(at(event)));
  node.addEventListener("pointerleave", () => show(null));
  return (step) => {
    layer.replaceChildren();
    if (step === null) return;
    const told = spec.lines.map(({ points, name }) => {
      const row = points.find((candidate) => candidate[STEP] >= step) ?? null;
      if (!row) return null;
      const range = row[HIGH] - row[LOW] > 1e-3 * Math.abs(row[MEAN]) ? ` (${number(row[LOW])} to ${number(row[HIGH])})` : "";
      return `${name ? `${name} ` : ""}${number(row[MEAN])}${range}`;
    }).filter(Boolean);
    layer.append(line(X(step), inner.top, X(step), inner.bottom, { stroke: "var(--wb-accent)" }));
    if (told.length) {
      const right = X(step) > width / 2;
      layer.append(text(X(step) + (right ? -4 : 4), inner.top - 4, `step ${step}: ${told.join(", ")}`, { anchor: right ? "end" : "start", cls: "ink" }));
    }
  };
}
