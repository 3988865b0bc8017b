// The traffic matrix: rows that each part reads of each other a layer, on a log scale that all matrices share.
import { picture, text } from "../lib/chart.js";
import { inkOn, partColor, viridis, viridisRgb } from "../lib/color.js";
import { el, svg } from "../lib/dom.js";
import { bytes, count, tick } from "../lib/format.js";

const SIZE = 236;

/** The number of rows, in thousands where all digits would touch the edges of a cell. */
const fitted = (rows, room) => (count(rows).length * 7.4 <= room ? count(rows) : `${(rows / 1e3).toFixed(rows < 99_950 ? 1 : 0)}k`);
const fittedBytes = (value, room) => {
  const [size, unit] = bytes(value).split(" ");
  return `${size} ${unit}`.length * 5.8 <= room || size >= 100 ? bytes(value) : `${Number(size).toPrecision(2)} ${unit}`;
};

/** The bytes of rows in words, at every width: of one layer, or of the second and those after it. */
export function layerBytes(rows, widths) {
  const each = widths.map((width) => bytes(rows * 4 * width));
  return each.length === 1 ? `${each[0]} a layer` : each.map((size, i) => `${size} in layer ${i + 2}`).join(", ");
}

/** The shared scale: {low, high, at(rows) -> 0..1} over all columns. */
export function trafficScale(columns) {
  let low = Infinity;
  let high = 0;
  for (const { traffic } of columns) for (const rows of traffic ?? []) if (rows > 0) { low = Math.min(low, rows); high = Math.max(high, rows); }
  if (!high) return null;
  const nice = (value, up) => {
    const power = 10 ** Math.floor(Math.log10(value));
    const steps = [1, 2, 5, 10].map((step) => step * power);
    return up ? steps.find((step) => step >= value) : steps.filter((step) => step <= value).at(-1);
  };
  [low, high] = [nice(low, false), nice(high, true)];
  if (low === high) low = high / 2;
  return { low, high, at: (rows) => Math.log(rows / low) / Math.log(high / low) };
}

/** Round numbers of rows on the scale, as many as have room; the ends are among them. */
function scaleTicks({ low, high, at }, width) {
  const all = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) for (const step of [1, 2, 5]) if (step * power > low && step * power < high) all.push(step * power);
  const shown = [low];
  for (const value of all) if ((at(value) - at(shown.at(-1))) * width > 34 && (1 - at(value)) * width > 34) shown.push(value);
  return [...shown, high];
}

export function trafficMatrix({ column, scale, part, widths, onPick }) {
  const { num_parts: parts, traffic } = column;
  const rowBytes = 4 * widths.reduce((sum, width) => sum + width, 0);
  const heading = el("h4", {}, `Traffic matrix, ${column.name}`);
  if (!traffic || !scale) return el("div", {}, heading, el("p", { class: "sec" }, traffic ? "No part reads from another." : `${parts} parts are too many for a matrix.`));
  const [left, top] = [36, 36];
  const side = (SIZE - left - 4) / parts;
  const gap = parts > 24 ? 0 : 2;
  const node = picture(SIZE, top + side * parts + 52, `Traffic matrix of ${column.label}: rows read a layer by each part of each other`);
  node.append(text(left + (side * parts) / 2, 11, "owner, sends", { anchor: "middle" }));
  node.append(svg("text", { transform: `translate(10 ${top + (side * parts) / 2}) rotate(-90)`, "text-anchor": "middle" }, "reader, receives"));
  const labels = parts <= 12;
  for (let i = 0; i < parts; i++) {
    const at = left + i * side + side / 2;
    const down = top + i * side + side / 2;
    if (labels) {
      const small = side < 26;
      node.append(svg("rect", { x: at - (small ? 5 : 13), y: 20, width: 10, height: 10, rx: 2, fill: partColor(i) }), svg("rect", { x: 17, y: down - 5, width: 8, height: 10, rx: 2, fill: partColor(i) }));
      if (!small) node.append(text(at + 1, 29, String(i)), text(27, down + 4, String(i)));
    }
    for (let j = 0; j < parts; j++) node.append(cell(i, j));
  }
  function cell(i, j) {
    const rows = traffic[i * parts + j];
    const [x, y] = [left + j * side, top + i * side];
    const rgb = rows ? viridisRgb(scale.at(rows)) : null;
    const what = i === j ? `part ${i} owns these rows` : `part ${i} reads ${count(rows)} rows of part ${j}: ${layerBytes(rows, widths)}`;
    const box = svg("g", { class: "pe-cell-box", onclick: () => onPick(i) }, svg("title", {}, what),
      svg("rect", { x, y, width: Math.max(side - gap, 0.5), height: Math.max(side - gap, 0.5), rx: parts > 12 ? 0 : 2, fill: rgb ? `rgb(${rgb})` : "var(--wb-track)" }));
    if (side < 38) return box;
    const middle = x + side / 2 - 1;
    if (i === j) box.append(text(middle, y + side / 2 + 3, "own", { anchor: "middle", cls: "pe-cell" }));
    else box.append(text(middle, y + side / 2 - 3, fitted(rows, side - gap - 6), { anchor: "middle", cls: "pe-cell pe-strong", fill: rgb ? inkOn(rgb) : null }), text(middle, y + side / 2 + 12, fittedBytes(rows * rowBytes, side - gap - 4), { anchor: "middle", cls: "pe-cell pe-fine", fill: rgb ? inkOn(rgb) : null }));
    return box;
  }
  if (part !== null && part < parts) node.append(svg("rect", { x: left - 2, y: top + part * side - 2, width: parts * side + 2, height: side + 2, rx: 4, fill: "none", stroke: "var(--wb-ink)", "stroke-width": 1.5, "pointer-events": "none" }));
  node.append(...legend(scale, left, top + side * parts + 8, side * parts - 2));
  const sums = widths.length > 1 && parts > 1 && side >= 38 ? [el("p", { class: "sec" }, `Bytes: layers 2 to ${widths.length + 1} together, forward.`)] : [];
  return el("div", {}, heading, node, ...sums);
}

function legend(scale, x, y, width) {
  const nodes = [];
  for (let i = 0; i < 48; i++) nodes.push(svg("rect", { x: x + (i * width) / 48, y, width: width / 48 + 0.5, height: 8, fill: viridis(i / 47) }));
  const marks = scaleTicks(scale, width);
  marks.forEach((value, i) => nodes.push(text(x + scale.at(value) * width, y + 20, tick(value), { anchor: i === 0 ? "start" : i === marks.length - 1 ? "end" : "middle" })));
  nodes.push(text(x + width / 2, y + 34, "rows a layer, log scale, shared", { anchor: "middle" }));
  return nodes;
}
