// The fixed parts of the explorer's page, and the words around the maps.
import { el } from "../lib/dom.js";
import { count } from "../lib/format.js";

/** Builds the page into `root`; returns its places by name. */
export function buildPage(root, busy) {
  const at = {
    status: el("span", { class: "pe-status", role: "status" }),
    title: el("span"),
    lead: el("p", { class: "pe-lead" }),
    facts: el("div", { class: "pe-facts" }),
    controls: el("div"),
    selection: el("div"),
    key: el("div"),
    trouble: el("div", { class: "pe-trouble" }),
    grid: el("div", { class: "pe-columns pe-maps" }),
    below: el("div", { class: "pe-columns pe-below" }),
    costPlace: el("div"),
    foot: el("p", { class: "pe-foot" }),
  };
  root.append(el("header", {}, el("div", { class: "pe-top" }, el("h2", {}, "Partition explorer"), at.title, at.status), at.lead, at.facts),
    at.controls, busy.partition.node, busy.map.node, at.trouble, at.selection, at.key, at.grid, at.below, at.costPlace, at.foot);
  return at;
}

export const factTiles = (tiles) => tiles.map(([value, unit, more]) => el("div", {}, el("b", {}, value), el("small", {}, unit, el("i", {}, more))));

/** The lines of a map's tip for a node, in the map of one partition. */
export function tipLines(facts, { part, role }) {
  const title = facts.title === `node ${facts.node}` ? facts.title : `${facts.title} (node ${facts.node})`;
  return [title, facts.class || null, `${facts.degree}, part ${part}`, role].filter(Boolean);
}

/** What the status says of a map whose partitions are not there yet. */
export const waitingText = (map) => `${map.is_sketch ? "Sketch of the graph; the partitions and the layout" : "Layout done; the partitions"} are being computed`;

/** As what the edges are drawn: one by one, in bundles, or not at all. */
export function edgesShown({ map, closer, bundles }) {
  if (!map || map.is_sketch) return "none";
  if (!map.is_bundled || closer) return "single";
  return bundles ? "bundles" : "none";
}

const GAP = 24;
const WIDEST = 760;
const NARROWEST_MAP = 280;

/** How many maps and how many columns of figures stand in a row of this width, and how wide each is. */
export function columnRoom(width, columns) {
  const numMethods = new Set(columns.map(({ method }) => method)).size;
  const room = (perRow) => Math.min(WIDEST, Math.floor((width - (perRow - 1) * GAP) / perRow));
  const mapsMost = width < 720 ? 1 : columns.length > 2 ? Math.floor((width + GAP) / (NARROWEST_MAP + GAP)) : 2;
  const maps = abreast(columns.length, numMethods, mapsMost);
  const details = abreast(columns.length, numMethods, width < 720 ? 1 : width >= 1320 ? 3 : 2);
  return { maps, details, mapRoom: room(maps), detailRoom: room(details) };
}

/** At most `most` of `num` columns in a row, rows equally long; the methods of one number of parts stay together. */
function abreast(num, numMethods, most) {
  const unit = numMethods <= most ? numMethods : 1;
  const units = num / unit;
  const rows = Math.ceil(units / Math.max(1, Math.floor(most / unit)));
  return unit * Math.ceil(units / rows);
}

export function doneText(numColumns, map) {
  const many = `${numColumns} partition${numColumns === 1 ? "" : "s"}`;
  return map && !map.is_sketch ? `Done: ${many} and the layout` : `${many} done, laying out the graph`;
}

/** What of the edges is drawn. */
function edgeWords({ map, bundles, closer }) {
  if (closer) return `A closer look: the ${count(closer.length / 2)} edges with both ends in view are drawn one by one, of ${count(map.num_pairs)}. `;
  if (!bundles) return `${count(map.num_pairs)} edges: too many to draw one by one, they are being bundled. `;
  const { num_bundled: held, num_short: short, num_bundles: all, pairs } = bundles.columns[0];
  const left = all > pairs.length / 2 ? `, the largest of ${count(all)}` : "";
  const view = held + short < map.num_pairs ? `; of those with both ends in view ${count(held)} are` : `: ${count(held)} are`;
  return `${count(map.num_pairs)} edges are too many to draw one by one${view} drawn as ${count(pairs.length / 2)} bundles between regions of the map${left}, wider where they hold more; ${count(short)} stay within a region. Zoom in for a closer look: regions get finer, then edges single. `;
}

export function footText(facts, state, columns) {
  const { map } = state;
  const drawn = !map ? "" : map.is_sketch
    ? "A sketch of the layout is shown until it is computed: nodes lie about their region, edges are not drawn. "
    : map.is_bundled ? `All ${count(facts.num_nodes)} nodes are drawn. ${edgeWords(state)}The figures count all edges. `
    : `All ${count(facts.num_nodes)} nodes and ${count(map.num_pairs)} edges are drawn. `;
  const matched = columns.length > 1 ? "Part numbers of the other maps follow the first by overlap; all maps share layout, zoom, selection and hover. " : "";
  const repaired = columns.filter((column) => column.repaired.length).map((column) => `${column.label} left parts ${column.repaired.join(", ")} empty: they were given a node each. `).join("");
  const colours = columns.some((column) => column.num_parts > 8) ? "Colours come again after 8 parts. " : "";
  return `${drawn}${matched}${repaired}${colours}Times to partition were measured once, on this machine, child process included.`;
}
