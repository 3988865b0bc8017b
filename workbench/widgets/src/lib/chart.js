// SVG charts at their real width: text is never scaled. Titles stand horizontally above the axis, labels on the lines.
import { svg } from "./dom.js";
import { tick as tickText } from "./format.js";

/** Round tick values between two numbers (inclusive), about `count` of them. */
export function ticks(low, high, count = 4) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const from = Math.ceil(low / step - 1e-9);
  const to = Math.floor(high / step + 1e-9);
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)));
}

/** The range that ends on round ticks and holds all finite values; `zero` includes 0. */
export function niceRange(values, { zero = false, count = 4 } = {}) {
  let low = zero ? 0 : Infinity;
  let high = zero ? 0 : -Infinity;
  for (const value of values) if (value !== null && Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  if (!(high >= low)) return [0, 1];
  if (high === low) [low, high] = zero || low === 0 ? [Math.min(0, low), Math.max(low, 0) || 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step].map((value) => Number(value.toPrecision(12)));
}

export const linear = ([a, b], [from, to]) => (value) => from + ((value - a) / (b - a || 1)) * (to - from);
export const logarithmic = ([a, b], [from, to]) => (value) => from + ((Math.log(value) - Math.log(a)) / (Math.log(b) - Math.log(a) || 1)) * (to - from);

export const text = (x, y, words, { anchor = "start", cls = "", fill, title } = {}) =>
  svg("text", { x, y, "text-anchor": anchor, class: cls || null, style: fill ? { fill } : null }, title ? svg("title", {}, title) : null, words);
export const line = (x1, y1, x2, y2, { stroke = "var(--wb-grid)", dash, width } = {}) =>
  svg("line", { x1, y1, x2, y2, stroke, "stroke-dasharray": dash, "stroke-width": width, "shape-rendering": "crispEdges" });
/** An SVG picture of a real size with an accessible name. */
export const picture = (width, height, label, ...children) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...children);

/** The path through points [[x, y], ...] in data units; null values lift the pen. */
export function pathOf(points, X, Y) {
  let path = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null || y === undefined || !Number.isFinite(y)) { pen = false; continue; }
    path += `${pen ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`;
    pen = true;
  }
  return path;
}

/**
 * A frame with axes: returns {node, X, Y, plot, inner} to draw into.
 * x and y: {range: [low, high], title, ticks?, format?, log?, lastTick?}; the y title stands above, the x title at the right end.
 */
export function frame({ width, height = 128, x, y, label, margin = {} }) {
  const { left = 40, right = 8, top = 20, bottom = 22 } = margin;
  const X = (x.log ? logarithmic : linear)(x.range, [left, width - right]);
  const Y = (y.log ? logarithmic : linear)(y.range, [height - bottom, top]);
  const node = picture(width, height, label);
  node.append(text(0, 9, y.title));
  for (const value of y.ticks ?? ticks(...y.range)) {
    node.append(line(left, Y(value), width - right, Y(value)), text(left - 6, Y(value) + 4, (y.format ?? tickText)(value), { anchor: "end" }));
  }
  const base = height - bottom;
  node.append(line(left, base, width - right, base, { stroke: "var(--wb-line)" }));
  const marks = x.ticks ?? ticks(...x.range, Math.max(2, Math.min(8, Math.floor((width - left) / 52))));
  const room = x.title.length * 6 + 12; // the title takes the place of ticks that it would cover
  for (const value of marks) {
    node.append(line(X(value), base, X(value), base + 4, { stroke: "var(--wb-line)" }));
    if (X(value) < width - right - room) node.append(text(X(value), base + 16, (x.format ?? tickText)(value), { anchor: X(value) < left + 8 ? "start" : "middle" }));
  }
  node.append(text(width - right, base + 16, x.title, { anchor: "end" }));
  const plot = svg("g");
  node.append(plot);
  return { node, X, Y, plot, inner: { left, right: width - right, top, bottom: base } };
}
