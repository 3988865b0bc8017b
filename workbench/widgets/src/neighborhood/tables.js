// The tables per hop, the memory strip, irregular access, and what the numbers mean.
import { line, picture, text } from "../lib/chart.js";
import { el, svg } from "../lib/dom.js";
import { textWidth } from "./draw.js";
import { FULL, SAMPLED } from "./growth.js";
import { bytes, fanouts, int, plural, share, short, times } from "./words.js";

const swatch = (color) => el("i", { class: "nx-swatch", style: { background: color } });

const WIDTHS = { Hop: 6, "Tree slots": 15, "Unique nodes": 17, Edges: 14, "Share of graph": 14, Redundancy: 17, "Feature bytes": 17 };

/** How sure a number of unique nodes is: the batches' percentiles, or the bounds of an estimate. */
function spreadOf(growth, hop, result) {
  const [low, high, error] = [int(growth.low[hop]), int(growth.high[hop]), growth.error[hop]];
  if (result.measured === 0) return growth.low[hop] === growth.high[hop] ? "of one batch" : `estimate for one batch; it lies between ${low} and ${high}`;
  const mean = error === null ? "" : `mean ${int(growth.nodes[hop])} ± ${int(error)} (95%); `;
  return `${mean}10th to 90th percentile of the batches: ${low} to ${high}`;
}

/** The error of the unique nodes at the chosen depth, behind the caption. */
function errorWords(growth, depth, result) {
  const error = growth.error[depth];
  if (result.measured === 0) return error === 0 ? " exact for one batch" : " estimate";
  if (error === null) return "";
  const ratio = (100 * error) / Math.max(growth.nodes[depth], 1);
  return error === 0 ? " exact" : ` unique nodes ± ${ratio < 0.1 ? ratio.toPrecision(1) : ratio.toFixed(1)}% (95%)`;
}

/** One table: hop, tree slots, unique nodes, edges, share, redundancy, bytes. */
function hopTable(caption, color, growth, { settings, graph, result, estimated }) {
  const about = (hop) => (estimated && hop > 0 ? "≈ " : "");
  const heads = ["Hop", "Tree slots", "Unique nodes", "Edges", "Share of graph", "Redundancy", ...(graph.row_bytes ? ["Feature bytes"] : [])];
  const rows = growth.nodes.map((nodes, hop) => {
    const spread = spreadOf(growth, hop, result);
    const cells = [
      [hop],
      [short(growth.slots[hop])],
      [`${about(hop)}${int(nodes)}`, spread],
      [`${about(hop)}${short(growth.edges[hop])}`],
      [share(nodes / graph.num_nodes)],
      [times(growth.slots[hop] / Math.max(nodes, 1))],
      ...(graph.row_bytes ? [[bytes(nodes * graph.row_bytes)]] : []),
    ];
    const faint = hop > settings.depth ? "nx-beyond" : "";
    return el("tr", { class: hop === settings.depth ? "nx-chosen" : faint }, cells.map(([words, title]) => el("td", { class: "num", title }, words)));
  });
  return el("table", { class: "nx-hops", "aria-label": caption },
    el("caption", {}, swatch(color), caption, el("span", { class: "nx-sub nx-error" }, errorWords(growth, settings.depth, result))),
    el("colgroup", {}, heads.map((head) => el("col", { style: { width: `${WIDTHS[head]}%` } }))),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { class: "num", scope: "col" }, head)))),
    el("tbody", {}, rows));
}

export function hopTables(model) {
  const used = fanouts(model.settings.fanouts.slice(0, model.result.walks.length - 1));
  return [hopTable("All neighbours", FULL, model.result.all, model), hopTable(`Sampled, fanouts ${used}`, SAMPLED, model.result.sampled, model)];
}

/** What one batch's features take, and what fetching every slot would. */
export function memoryPicture(width, { result, settings, graph }) {
  const narrow = width < 600;
  const [left, right, height] = [narrow ? 92 : 104, narrow ? 8 : 16, 100];
  const depth = settings.depth;
  const rows = [["All neighbours", result.all, FULL], ["Sampled", result.sampled, SAMPLED]]
    .map(([words, growth, color]) => ({ words, color, read: growth.nodes[depth] * graph.row_bytes, slots: growth.slots[depth] * graph.row_bytes }));
  const whole = graph.num_nodes * graph.row_bytes;
  const low = Math.floor(Math.log10(Math.min(1024, ...rows.map((row) => row.read))));
  const high = Math.log10(Math.max(whole, ...rows.map((row) => row.slots))) + 0.4;
  const X = (value) => left + ((width - left - right) * (Math.log10(value) - low)) / (high - low);
  const node = picture(width, height, `Feature memory of one batch: ${rows.map((row) => `${row.words} ${bytes(row.read)} read, ${bytes(row.slots)} without sharing`).join("; ")}`);
  for (let power = 0; power <= 60; power += 5) {
    const value = 2 ** power;
    if (X(value) < left || X(value) > width - right || (narrow && power % 10)) continue;
    node.append(line(X(value), 4, X(value), 62), text(X(value), 78, bytes(value).replace(".0 ", " "), { anchor: "middle" }));
  }
  node.append(text((left + width - right) / 2, 96, "Feature bytes of a batch (log)", { anchor: "middle" }));
  node.append(line(X(whole), 4, X(whole), 62, { stroke: "var(--wb-ink2)" }));
  rows.forEach((row, i) => {
    const y = 24 + i * 26;
    node.append(
      text(0, y + 4, row.words, { cls: "ink" }),
      svg("line", { x1: X(row.read), y1: y, x2: X(row.slots), y2: y, stroke: row.color, "stroke-width": 1.5, "stroke-dasharray": "6 3" }),
      svg("circle", { cx: X(row.slots), cy: y, r: 4, fill: "var(--wb-bg)", stroke: row.color, "stroke-width": 1.5 }),
      svg("circle", { cx: X(row.read), cy: y, r: 5, fill: row.color }),
    );
    const read = `${bytes(row.read)}${narrow ? "" : " read"}`;
    const slots = `${bytes(row.slots)}${narrow ? "" : " without sharing"}`;
    const before = X(row.read) - 10 - textWidth(read, true) > left;
    node.append(text(before ? X(row.read) - 10 : left, before ? y + 4 : y - 8, read, { anchor: before ? "end" : "start", cls: "lbl" }));
    const after = X(row.slots) + 12 + textWidth(slots) < width;
    if (X(row.slots) - X(row.read) > 12) node.append(text(after ? X(row.slots) + 10 : X(row.slots) + 4, after ? y + 4 : y + 16, slots, { anchor: after ? "start" : "end" }));
  });
  const words = narrow ? "all rows" : `whole matrix ${bytes(whole)}`;
  const fits = X(whole) + 6 + textWidth(words) < width - (narrow ? 60 : 150);
  node.append(text(fits ? X(whole) + 6 : X(whole) - 6, 10, words, { anchor: fits ? "start" : "end", cls: "ink" }));
  return node;
}

const pair = (words, value, title) => el("div", { class: "nx-pair", title }, el("span", {}, words), el("b", {}, value));
const cell = (head, pairs, note) => el("div", {}, el("h4", {}, head), pairs, el("p", { class: "nx-note" }, note));

/** The four cells of irregular access. */
export function accessCells(access, graph) {
  const change = access.num_runs ? Math.round((100 * (access.num_runs - access.num_runs_by_degree)) / access.num_runs) : 0;
  const ratio = access.median > 0 ? `The largest list is ${int(access.maximum / access.median)} times the median one; ` : "";
  const isolated = access.num_isolated ? `${plural(access.num_isolated, "node")} ${access.num_isolated === 1 ? "has" : "have"} no neighbours.` : `${ratio ? "e" : "E"}very node has neighbours.`;
  return [
    cell("Degree", [pair("median (p50)", int(access.median)), pair("p99", int(access.p99)), pair(`maximum, ${access.hub}`, int(access.maximum), access.hub)],
      `${ratio}${isolated}`),
    cell("Edges held by the largest nodes", access.top.map(([part, count, held]) => pair(`top ${100 * part}% (${int(count)})`, `${(100 * held).toFixed(1)}%`)),
      "Share of all edges in the neighbour lists of these nodes."),
    cell("Cache lines of a sampled batch", [
      pair("neighbour lists", int(access.list_lines), "distinct 64-byte lines of the lists that hold a sampled edge"),
      pair("feature rows", graph.row_bytes ? short(access.row_lines) : "–", "distinct 64-byte lines of the rows that are gathered"),
      pair("runs of adjacent rows", int(access.num_runs), "each run is one contiguous read"),
    ], `${plural(access.num_seeds, "seed")}, 64-byte lines. Ordered by degree, the rows fall into ${plural(access.num_runs_by_degree, "run")} (${change < 0 ? "+" : "−"}${Math.abs(change)}%).`),
    cell(`Busiest of ${access.num_threads} threads ÷ mean, hop ${access.hop}`, [
      pair("all neighbours", `${access.all_imbalance.toFixed(1)} ×`),
      pair(access.fanout < 0 ? "sampled, all taken" : `sampled, fanout ${access.fanout}`, `${access.sampled_imbalance.toFixed(1)} ×`),
    ], access.sampled_imbalance < access.all_imbalance - 0.05 ? "Frontier cut into equal node counts. A fanout caps the hubs, so it also balances the threads." : "Frontier cut into equal node counts."),
  ];
}

/** Two more cells: what the order of the rows by part changes, and how evenly the parts are loaded. */
export function partCells(parts, access) {
  const less = (before, after) => {
    const change = before ? Math.round((100 * (after - before)) / before) : 0;
    return change === 0 ? "±0%" : `${change > 0 ? "+" : "−"}${Math.abs(change)}%`;
  };
  const row = (words, before, after, title) => pair(words, `${short(before)} → ${short(after)} (${less(before, after)})`, title);
  const chance = 100 * (1 - 1 / parts.num_parts);
  return [
    cell(`Reordered by part, ${parts.num_parts} parts (${parts.method})`, [
      row("runs of adjacent rows", parts.num_runs, parts.num_runs_by_part, "contiguous reads of a sampled batch, in the order of the ids → part by part"),
      row("lines of neighbour lists", parts.list_lines, parts.list_lines_by_part, "distinct 64-byte lines, in the order of the ids → part by part"),
      pair("seeds of one part: rows of its own", share(parts.local_share), "share of the nodes read that lie in the seeds' own part"),
    ], `A batch of seeds from one part reads ${plural(parts.local_num_nodes, "node")} in ${plural(parts.local_runs, "run")}. Ordered by degree: ${int(access.num_runs_by_degree)} runs.`),
    cell(`Busiest of ${parts.num_parts} parts ÷ mean`, [
      pair("edges of the graph", `${parts.graph_imbalance.toFixed(2)} ×`, "edges that the busiest part owns, over the mean"),
      pair("edges of a sampled batch", `${parts.batch_imbalance.toFixed(2)} ×`, "sampled edges that the busiest part reads, over the mean"),
      pair("sampled edges between parts", share(parts.cut_share)),
    ], `Parts that ignore the edges would cut ${chance.toFixed(0)}% of them.`),
  ];
}

/** The closing list of definitions. */
export function definitions({ graph, settings, result }) {
  const used = settings.fanouts.slice(0, settings.depth);
  let slots = 1;
  let bound = 1;
  for (const fanout of used) { slots *= fanout; bound += slots; }
  const most = used.some((fanout) => fanout < 0) ? "" : `; at most ${int(bound)} a seed for ${fanouts(used)}`;
  const entries = [
    ["Neighbours", graph.symmetric ? "Every edge stands in both directions, so a node reads all that it is joined to." : "A node reads its in-neighbours, the sources of the edges that end at it."],
    ["Walks (d^L)", `The rule of thumb: seeds × (mean degree ${graph.mean_degree.toFixed(1)})^hop. It ignores hubs, so the real tree is ${result.all.slots.at(-1) > result.walks.at(-1) ? "larger" : "different"}.`],
    ["Tree slots", `Nodes of the computation tree with repeats, up to this hop. All neighbours: exact number of walks. Sampled: expected number when every slot draws min(fanout, degree) neighbours${most}.`],
    ["Unique nodes, edges", "What is read: each node expanded once, at the hop where it first appears. Sampled values are measured, not bounds."],
    ["Redundancy", "Tree slots ÷ unique nodes: how often the average node would be fetched again without sharing."],
    ["Seeds", "Random: all nodes alike, anew for each batch. Hub, median and percentile go by degree. A batch's sampling is drawn 20 times where its seeds are fixed."],
    ["Estimate", "What is marked ≈ is shown at once: one measured batch, or on a large graph an estimate from the degrees between bounds. The mean over all batches replaces it; ± is its 95% interval. Hover a number for its 10th to 90th percentile. With fixed seeds and all neighbours every number is exact."],
    ["Parts", "The nodes divided into parts that cut few edges, and renumbered part by part: what is read together then lies together."],
  ];
  return entries.flatMap(([term, words]) => [el("dt", {}, term), el("dd", {}, words)]);
}
