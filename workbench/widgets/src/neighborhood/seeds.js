// Which seeds explode, from which batch size on, and which hubs do it.
import { line, picture, text } from "../lib/chart.js";
import { svg } from "../lib/dom.js";
import { fit, reachable, spread, stroke, textWidth, tip } from "./draw.js";
import { FULL, SAMPLED } from "./growth.js";
import { decade, hops, int, plural, share, short } from "./words.js";

const HUB = "var(--nx-hub)";
const OTHERS = "var(--nx-walks)";

/** The distribution of the 2-hop sizes over single random seeds; a bar gives a seed. */
export function sizesPicture(width, found, onSeed) {
  const [left, right, top, bottom, height] = [40, 8, 74, 40, 280];
  const end = found.edges.at(-1);
  const X = (value) => left + ((width - left - right) * Math.log10(Math.max(value, 1))) / Math.log10(end);
  const totals = found.near.map((count, i) => count + found.others[i]);
  const step = [10, 20, 50, 100, 200, 250, 500].find((size) => size * 4 >= Math.max(...totals)) ?? 1000;
  const most = Math.max(step, Math.ceil(Math.max(...totals) / step) * step);
  const Y = (count) => height - bottom - ((height - top - bottom) * count) / most;
  const node = picture(width, height, `Distribution of the 2-hop neighbourhood size over ${plural(found.num_seeds, "random seed")}: median ${int(found.median)}, hub ${found.hub} ${int(found.hub_size)}`);
  node.setAttribute("role", "group");
  for (let count = 0; count <= most; count += step) node.append(line(left, Y(count), width - right, Y(count), { stroke: count ? "var(--wb-grid)" : "var(--wb-line)" }), text(left - 8, Y(count) + 4, int(count), { anchor: "end" }));
  for (let power = 0; 10 ** power < end * 0.7; power += 1) node.append(line(X(10 ** power), Y(0), X(10 ** power), Y(0) + 4, { stroke: "var(--wb-line)" }), text(X(10 ** power), height - bottom + 17, decade(power), { anchor: "middle" }));
  node.append(text((left + width - right) / 2, height - 4, "Nodes within 2 hops of the seed (log)", { anchor: "middle" }), text(0, 9, `Seeds (of ${int(found.num_seeds)})`));
  const bars = [];
  totals.forEach((total, i) => {
    if (!total) return;
    const [x, w] = [X(found.edges[i]) + 0.5, Math.max(1, X(found.edges[i + 1]) - X(found.edges[i]) - 1)];
    const words = `${plural(total, "seed")} with ${int(Math.ceil(found.edges[i]))} to ${int(found.edges[i + 1])} nodes`;
    const part = (from, count, color) => (count ? svg("rect", { x, y: Y(from + count), width: w, height: Y(from) - Y(from + count), fill: color }) : null);
    bars.push(svg("g", { class: "nx-bar", "data-seed": found.seeds[i], "aria-label": `${words}: take one as the seed` },
      tip(`${words}; click to take one as the seed`),
      svg("rect", { class: "nx-hit", x: x - 0.5, y: top, width: w + 1, height: Y(0) - top, fill: "transparent" }),
      part(0, found.others[i], OTHERS), part(found.others[i], found.near[i], HUB)));
  });
  node.append(...bars);
  reachable(bars, { activate: (bar) => onSeed(Number(bar.dataset.seed)) });
  const mark = (value, words, y) => {
    const room = X(value) + 6 + textWidth(words) < width;
    node.append(line(X(value), y - 8, X(value), Y(0), { stroke: "var(--wb-ink)", dash: "2 2" }), text(X(value) + (room ? 5 : -5), y, words, { anchor: room ? "start" : "end", cls: "ink" }));
  };
  mark(found.hub_size, `hub ${found.hub} ${int(found.hub_size)}`, 26);
  mark(found.median, `median ${int(found.median)}`, 40);
  const near = found.near.reduce((a, b) => a + b, 0);
  const legend = [];
  if (near) legend.push([HUB, `${int(near)} ${near === 1 ? "reads" : "read"} ${found.hub}: ${int(found.near_min)} or more each`]);
  if (near < found.num_seeds) legend.push([OTHERS, `${int(found.num_seeds - near)} others: half have at most ${int(found.others_median)}`]);
  legend.forEach(([color, words], i) => node.append(svg("rect", { x: left + 12, y: 52 + i * 16, width: 8, height: 8, fill: color }), text(left + 26, 60 + i * 16, words, { cls: "ink" })));
  return node;
}

/** Share of the graph read against the batch size, one curve a depth and way. */
export function saturationPicture(width, found, { settings, graph, result, estimated }) {
  const [left, right, top, bottom, height] = [40, 118, 26, 40, 280];
  const sizes = found.batch_sizes;
  const last = sizes.length - 1;
  const end = Math.max(sizes[last], 2);
  const X = (size) => left + ((width - left - right) * Math.log2(size)) / Math.log2(end);
  const Y = (ratio) => height - bottom - (height - top - bottom) * ratio;
  const node = picture(width, height, `Share of the graph that a batch of random seeds reads, against its size. ${hops(settings.depth)}, at ${int(sizes[last])} seeds: all neighbours ${share(found.all[settings.depth][last] / graph.num_nodes)}, sampled ${share(found.sampled[settings.depth][last] / graph.num_nodes)}`);
  for (const mark of [0, 0.25, 0.5, 0.75, 1]) node.append(line(left, Y(mark), width - right, Y(mark), { stroke: mark ? "var(--wb-grid)" : "var(--wb-line)" }), text(left - 8, Y(mark) + 4, `${mark * 100}%`, { anchor: "end" }));
  const marks = sizes.filter((size, i) => i % 3 === 0);
  for (const size of marks) node.append(line(X(size), Y(0), X(size), Y(0) + 4, { stroke: "var(--wb-line)" }), text(X(size), height - bottom + 17, int(size), { anchor: "middle" }));
  node.append(text((left + width - right) / 2, height - 4, "Batch size in seeds (log)", { anchor: "middle" }), text(0, 9, "Share of all nodes read"));
  const batch = Math.min(Math.max(result.num_seeds, 1), end);
  node.append(line(X(batch), top, X(batch), Y(0), { stroke: "var(--wb-ink2)", dash: "1 3" }));
  const labels = [];
  const dots = [];
  for (const [way, color, words] of [["sampled", SAMPLED, "sampled"], ["all", FULL, "all"]]) {
    for (let depth = 1; depth < found[way].length; depth += 1) {
      const chosen = depth === settings.depth;
      const points = found[way][depth].map((nodes, i) => [X(sizes[i]), Y(nodes / graph.num_nodes)]);
      node.append(stroke(points, color, { "stroke-width": chosen ? 3 : 1.25, opacity: chosen ? 1 : 0.65 }));
      labels.push({ y: points[last][1], words: `${hops(depth)}, ${words}`, chosen });
      if (chosen) dots.push({ ratio: result[way].nodes[depth] / graph.num_nodes, color });
    }
  }
  const random = settings.choice === "random";
  for (const { ratio, color } of dots) {
    const before = X(batch) > left + 60;
    node.append(
      svg("circle", { cx: X(batch), cy: Y(ratio), r: 4, fill: random ? color : "var(--wb-bg)", stroke: color, "stroke-width": 2 }, tip(random ? "random seeds" : "the chosen seeds")),
      text(X(batch) + (before ? -7 : 9), Y(ratio) - 8, `${estimated ? "≈ " : ""}${share(ratio)}`, { anchor: before ? "end" : "start", cls: "lbl" }),
    );
  }
  for (const label of spread(labels, 13, top, Y(0))) node.append(text(width - right + 8, label.y + 4, label.words, { cls: label.chosen ? "lbl" : "" }));
  return node;
}

/** Mean neighbourhood of one seed when the largest hubs are reached but not expanded. */
export function hubsPicture(width, found) {
  const narrow = width < 600;
  const [left, right, row] = [narrow ? 128 : 148, narrow ? 88 : 96, 28];
  const height = found.num_hubs.length * row + 40;
  const most = Math.max(...found.sizes.map((sizes) => sizes[3])) || 1;
  const X = (value) => left + ((width - left - right) * value) / most;
  const name = (count) => {
    if (count === 0) return "all expanded";
    if (count === 1) return `without ${found.hub}`;
    return count === found.one_percent ? `top 1% (${int(count)} nodes)` : `${int(count)} largest hubs`;
  };
  const node = picture(width, height, `Mean neighbourhood of one random seed: ${found.num_hubs.map((count, i) => `${name(count)} ${int(found.sizes[i][3])} in 3 hops`).join("; ")}`);
  const step = 10 ** Math.floor(Math.log10(most)) * ([0.1, 0.2, 0.5, 1, 2].find((factor) => most / (factor * 10 ** Math.floor(Math.log10(most))) <= (narrow ? 3.5 : 6)) ?? 5);
  for (let value = 0; value <= most; value += step) node.append(line(X(value), 0, X(value), height - 36, { stroke: value ? "var(--wb-grid)" : "var(--wb-line)" }), text(X(value), height - 20, short(value), { anchor: "middle" }));
  node.append(text((left + width - right) / 2, height - 4, "Mean unique nodes of one seed, all neighbours", { anchor: "middle" }));
  found.num_hubs.forEach((count, i) => {
    const y = i * row + 4;
    const [two, three] = [found.sizes[i][2], found.sizes[i][3]];
    node.append(
      text(left - 8, y + 13, fit(name(count), left - 8), { anchor: "end", cls: "ink" }),
      svg("rect", { x: left, y, width: Math.max(1, X(three) - left), height: 9, fill: "var(--wb-bg)" }),
      svg("rect", { x: left, y, width: Math.max(1, X(three) - left), height: 9, fill: FULL, opacity: 0.45 }),
      svg("rect", { x: left, y: y + 10, width: Math.max(1, X(two) - left), height: 9, fill: FULL }),
      text(X(three) + 6, y + 8, `${int(three)}${i === 0 ? ", 3 hops" : ""}`, { cls: "ink" }),
      text(X(two) + 6, y + 19, `${int(two)}${i === 0 ? ", 2 hops" : ""}`, { cls: "ink" }),
    );
  });
  return node;
}
