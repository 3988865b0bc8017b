// The sampled computation tree of one seed: an outline in columns, since a radial tree cannot hold a hundred names.
import { picture, text } from "../lib/chart.js";
import { el, svg } from "../lib/dom.js";
import { fit, reachable, textWidth, tip } from "./draw.js";
import { SAMPLED } from "./growth.js";
import { fanouts, int, plural, short } from "./words.js";

const ROW = 14;
const HEAD = 18;
const GAP = 10;
const NODE = 0, DEGREE = 1, NEW = 2, DRAWN = 3, CHILDREN = 4; // the entries of a packed slot

const rule = (x1, y1, x2, y2) => svg("line", { x1, y1, x2, y2, stroke: "var(--wb-line)" });

/** Distributes the branches over columns in their order, as evenly as it goes: [[column, y], ...]. */
function columnsOf(heights, count) {
  const place = (limit) => {
    let column = 0;
    let y = 0;
    const places = [];
    for (const height of heights) {
      if (y + height > limit && y > 0) { column += 1; y = 0; }
      places.push([column, y]);
      y += height;
    }
    return column < count ? places : null;
  };
  let limit = heights.reduce((a, b) => a + b, 0) / count;
  let places = place(limit);
  while (!places) { limit += 4; places = place(limit); }
  return places;
}

/** Counts how often each node stands in the part of the tree that is drawn. */
function countSlots(slot, counts = new Map()) {
  counts.set(slot[NODE], (counts.get(slot[NODE]) ?? 0) + 1);
  for (const child of slot[CHILDREN]) countSlots(child, counts);
  return counts;
}

/**
 * Draws the tree into `host`; returns {redraw(width)}. Pointing at a name marks all its slots, choosing it calls
 * `onSeed(node)`.
 */
export function treeView(host, tree, { onSeed }) {
  const counts = countSlots(tree.root);
  const name = (node) => tree.names[node] ?? `node ${int(node)}`;
  const key = el("div", { class: "nx-key" });
  const canvas = el("div");
  const drawn = tree.fanouts.length > 1 ? tree.root[CHILDREN].filter((branch) => branch[DRAWN]) : [];
  const example = drawn.find((branch) => branch[DRAWN] < branch[DEGREE]) ?? drawn[0];
  let marked = tree.often;
  let opened = 0;
  host.replaceChildren(key, canvas);

  const mark = (node) => {
    marked = node;
    for (const item of canvas.querySelectorAll("[data-node]")) item.classList.toggle("nx-marked", Number(item.dataset.node) === node);
    key.replaceChildren(
      el("span", {}, dot(true), "read here first"), el("span", {}, dot(false), "already read, not expanded"),
      ...(example ? [el("span", {}, `${int(example[DRAWN])} of ${int(example[DEGREE])}: neighbours drawn, of all`)] : []), ...(tree.fanouts.length > 2 ? [el("span", {}, "dots at the right: hop 3")] : []),
      el("span", { class: "nx-marked-word" }, `${name(node)} occurs ${counts.get(node) === 1 ? "once" : `${int(counts.get(node))} times`} in this tree`),
    );
  };

  const item = (slot, x, y, room, hop) => {
    const bold = hop < 2;
    const words = fit(name(slot[NODE]), room, bold);
    const state = slot[NEW] ? "" : ", already read";
    return svg("g", { class: `nx-node${slot[NEW] ? "" : " nx-again"}`, "data-node": slot[NODE], "aria-label": `${name(slot[NODE])}: ${plural(slot[DEGREE], "neighbour")}, hop ${hop}${state}; make it the seed` },
      tip(`${name(slot[NODE])}: ${plural(slot[DEGREE], "neighbour")}, hop ${hop}${state}. Click: make it the seed.`),
      svg("rect", { x: x - 7, y: y - 7, width: textWidth(words, bold) + 20, height: ROW, rx: 3, fill: "transparent" }),
      slot[NEW] ? svg("circle", { cx: x, cy: y, r: hop === 0 ? 6 : hop === 1 ? 4 : 3, fill: SAMPLED }) : svg("circle", { cx: x, cy: y, r: 2.5, fill: "var(--wb-bg)", stroke: "var(--wb-ink2)" }),
      text(x + (hop === 0 ? 13 : 9), y + 4, words, { cls: bold ? "lbl" : "" }));
  };

  const leaf = (slot, x, y) => svg("g", { class: "nx-leaf", "data-node": slot[NODE] },
    tip(`${name(slot[NODE])}: ${plural(slot[DEGREE], "neighbour")}, hop 3${slot[NEW] ? "" : ", already read"}`),
    slot[NEW] ? svg("circle", { cx: x, cy: y, r: 2.2, fill: SAMPLED }) : svg("circle", { cx: x, cy: y, r: 2, fill: "var(--wb-bg)", stroke: "var(--wb-ink2)", "stroke-width": 0.9 }));

  const drawBranch = (node, branch, { x, y, width, open, folds, index }) => {
    const more = branch[DRAWN] - branch[CHILDREN].length;
    const note = open || !branch[DRAWN] ? `${int(branch[DRAWN])} of ${int(branch[DEGREE])}` : `${int(branch[DRAWN])} more`;
    const told = tree.fanouts.length > 1 && branch[NEW] ? note : "";
    node.append(rule(x + 7, y, x + 20, y));
    if (open) branch[CHILDREN].forEach((child, i) => {
      const at = y + HEAD + i * ROW - 1;
      node.append(rule(x + 20, at, x + 30, at));
      if (i === branch[CHILDREN].length - 1) node.append(rule(x + 20, y, x + 20, at));
    });
    node.append(item(branch, x + 20, y, width - 38 - textWidth(told), 1));
    const told_at = text(x + width, y + 4, told, { anchor: "end" });
    if (folds) { // on a narrow screen one branch at a time is open
      const button = svg("g", { class: "nx-fold", role: "button", tabindex: "0", "aria-label": `Open the branch of ${name(branch[NODE])}`, "aria-expanded": String(open) }, told_at);
      const toggle = () => { opened = index; draw(lastWidth); };
      button.addEventListener("click", toggle);
      button.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); } });
      node.append(button);
    } else node.append(told_at);
    if (!open) return;
    branch[CHILDREN].forEach((child, i) => {
      const at = y + HEAD + i * ROW - 1;
      const dots = child[CHILDREN];
      node.append(item(child, x + 32, at, width - 84, 2));
      dots.forEach((grandchild, j) => node.append(leaf(grandchild, x + width - 3 - (dots.length - 1 - j) * 7, at)));
    });
    if (more > 0) node.append(text(x + 41, y + HEAD + branch[CHILDREN].length * ROW + 3, `and ${int(more)} more`));
  };

  let lastWidth = 0;
  const draw = (width) => {
    lastWidth = width;
    const narrow = width < 700;
    const count = narrow ? Math.min(2, Math.max(1, Math.floor(width / 200))) : width < 1200 ? 4 : 5;
    const column = (width - 16 * (count - 1)) / count;
    const branches = tree.root[CHILDREN];
    const folds = narrow && tree.fanouts.length > 1;
    const isOpen = (i) => !folds || i === opened;
    const heights = branches.map((branch, i) => {
      if (!isOpen(i)) return 22;
      const rows = branch[CHILDREN].length + (branch[DRAWN] > branch[CHILDREN].length ? 1 : 0);
      return rows ? HEAD + rows * ROW + GAP : 22;
    });
    const places = branches.length ? columnsOf(heights, count) : [];
    const height = 62 + Math.max(0, ...places.map(([, y], i) => y + heights[i]));
    const node = picture(width, branches.length ? height : 32, `Sampled computation tree of ${name(tree.node)}`);
    node.setAttribute("role", "group");
    const root = item(tree.root, 7, 16, width - 120, 0);
    const hidden = tree.root[DRAWN] - branches.length;
    node.append(root, text(28 + textWidth(name(tree.node), true), 20, `seed, ${int(tree.root[DRAWN])} of ${plural(tree.root[DEGREE], "neighbour")}${hidden > 0 ? `, ${int(branches.length)} shown` : ""}`));
    const ends = new Map();
    places.forEach(([at, y]) => ends.set(at, y));
    if (branches.length) node.append(rule(7, 22, 7, 40), rule(7, 40, Math.max(...ends.keys()) * (column + 16) + 7, 40));
    for (const [at, y] of ends) node.append(rule(at * (column + 16) + 7, 40, at * (column + 16) + 7, 60 + y));
    branches.forEach((branch, i) => drawBranch(node, branch, { x: places[i][0] * (column + 16), y: 60 + places[i][1], width: column, open: isOpen(i), folds, index: i }));
    canvas.replaceChildren(node);
    reachable([...node.querySelectorAll(".nx-node")], { activate: (chosen) => onSeed(Number(chosen.dataset.node)), onFocus: (chosen) => mark(Number(chosen.dataset.node)) });
    for (const dots of node.querySelectorAll(".nx-leaf")) dots.addEventListener("mouseenter", () => mark(Number(dots.dataset.node)));
    mark(marked);
  };
  return { redraw: draw };
}

const dot = (fresh) => svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true" },
  fresh ? svg("circle", { cx: 5, cy: 5, r: 3.5, fill: SAMPLED }) : svg("circle", { cx: 5, cy: 5, r: 3, fill: "none", stroke: "var(--wb-ink2)" }));

/** The line under the tree's title. */
export function treeSummary(tree) {
  const slots = tree.slots.map(int).join(" + ");
  const total = tree.slots.reduce((a, b) => a + b, 0);
  return `Fanouts ${fanouts(tree.fanouts)}: ${slots} = ${plural(total, "slot")} drawn, ${plural(tree.num_nodes, "node")} read. All neighbours: ${tree.full_is_exact ? "" : "≈ "}${short(tree.full_slots)} slots, ${int(tree.full_nodes)} nodes.`;
}
