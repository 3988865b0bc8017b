// How evenly a partition spreads nodes, in-edges, training nodes and halo: bars in times of the mean part.
import { picture, text, ticks } from "../lib/chart.js";
import { partColor } from "../lib/color.js";
import { el, svg } from "../lib/dom.js";
import { count, fixed } from "../lib/format.js";

const GROUPS = [["Nodes", "nodes"], ["In-edges", "in_edges"], ["Training nodes", "train"], ["Halo nodes", "halo"]];
const MAX_BARS = 8; // more parts stand upright, as thin columns

/** The largest share of the mean that any shown partition reaches: the axis that all charts share. */
export function balanceLimit(columns) {
  let most = 1;
  for (const column of columns) for (const [, key] of GROUPS) {
    const total = column[key].reduce((a, b) => a + b, 0);
    if (total) most = Math.max(most, (Math.max(...column[key]) * column.num_parts) / total);
  }
  return [1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024].find((value) => value >= most) ?? most;
}

export function balanceBars({ column, width, limit }) {
  const draw = column.num_parts <= MAX_BARS ? bars : columnsUpright;
  return el("div", {}, el("h4", {}, "Balance of the parts"), draw(column, width, limit));
}

const meanOf = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const title = (name, part, value, mean) => svg("title", {}, `part ${part}: ${count(value)} ${name.toLowerCase()}, ${mean ? fixed(value / mean) : "0"} times the mean`);

function bars(column, width, limit) {
  const left = 14;
  const longest = Math.max(...GROUPS.flatMap(([, key]) => [...column[key]].map((value) => count(value).length)));
  const room = width - left - Math.ceil(longest * 6.8) - 8;
  const X = (value) => left + (Math.min(value, limit) / limit) * room;
  const nodes = [];
  let y = 8;
  for (const [name, key] of GROUPS) {
    const mean = meanOf(column[key]);
    nodes.push(text(0, y + 10, name, { cls: "ink" }));
    y += 15;
    const from = y;
    column[key].forEach((value, i) => {
      nodes.push(svg("g", {}, title(name, i, value, mean), text(0, y + 9, String(i)),
        svg("rect", { x: left, y: y + 1, width: room, height: 8, fill: "var(--wb-track)" }),
        svg("rect", { x: left, y: y + 1, width: mean ? Math.max(1, X(value / mean) - left) : 0, height: 8, fill: partColor(i) }),
        text(width, y + 9, count(value), { anchor: "end", cls: "ink" })));
      y += 12;
    });
    nodes.push(svg("line", { x1: X(1), x2: X(1), y1: from - 1, y2: y - 1, stroke: "var(--wb-ink)", "stroke-width": 1 }));
    y += 6;
  }
  for (const value of ticks(0, limit, 3)) nodes.push(text(X(value), y + 9, value, { anchor: value === 0 ? "start" : value === limit ? "end" : "middle" }));
  nodes.push(text(left + room / 2, y + 23, "times the mean part", { anchor: "middle" }));
  return picture(width, y + 28, `Balance of ${column.label}: nodes, in-edges, training nodes and halo of each part`, ...nodes);
}

function columnsUpright(column, width, limit) {
  const height = 44;
  const nodes = [];
  const step = (width - 40) / column.num_parts;
  let y = 8;
  for (const [name, key] of GROUPS) {
    const mean = meanOf(column[key]);
    const top = Math.max(1, mean ? Math.max(...column[key]) / mean : 1);
    nodes.push(text(0, y + 10, `${name}, at most ${fixed(top)} times the mean`, { cls: "ink" }));
    y += 16;
    column[key].forEach((value, i) => {
      const high = mean ? (value / mean / Math.max(limit, 1)) * height : 0;
      nodes.push(svg("g", {}, title(name, i, value, mean),
        svg("rect", { x: 28 + i * step, y, width: Math.max(step - (step > 4 ? 1 : 0), 0.5), height, fill: "transparent" }),
        svg("rect", { x: 28 + i * step, y: y + height - high, width: Math.max(step - (step > 4 ? 1 : 0), 0.5), height: high, fill: partColor(i) })));
    });
    const at = y + height - height / Math.max(limit, 1);
    nodes.push(svg("line", { x1: 28, x2: width - 12, y1: at, y2: at, stroke: "var(--wb-ink)", "stroke-width": 1 }), text(24, at + 4, "1", { anchor: "end" }), text(24, y + height + 1, "0", { anchor: "end" }));
    y += height + 10;
  }
  nodes.push(text((28 + width) / 2, y + 8, `part 0 to ${column.num_parts - 1}; height: times the mean part`, { anchor: "middle" }));
  return picture(width, y + 14, `Balance of ${column.label}: nodes, in-edges, training nodes and halo of each part`, ...nodes);
}
