// The controls: depth, neighbours, fanouts, batch size, seeds. They show the settings and tell what a person changes.
import { el, segmented } from "../lib/dom.js";
import { int } from "./words.js";

const BATCH_SIZES = [1, 64, 1024];
const CHOICES = [
  ["random", "Random", "All nodes alike, anew for each batch"], ["hub", "Hub", "The nodes with the most neighbours"],
  ["median", "Median", "Nodes around the median degree"], ["percentile", "Percentile", "Nodes around a percentile of the degree"],
  ["node", "Node", "One node, by its name or id"],
];

const group = (label, control) => el("div", { class: "nx-group" }, el("span", { class: "wb-label" }, label), control);

/** A field that tells what was entered on Enter or when it is left; `set` changes it from outside, not while typed in. */
function field(label, { type, width, attributes = {}, onChange }) {
  const node = el("input", { type, "aria-label": label, style: { width }, ...attributes });
  let last = "";
  const commit = () => {
    const valid = node.value.trim() !== "" && node.checkValidity();
    node.setAttribute("aria-invalid", String(!valid));
    if (!valid || node.value === last) return;
    last = node.value;
    onChange(type === "number" ? Number(node.value) : node.value.trim());
  };
  node.addEventListener("change", commit);
  node.addEventListener("keydown", (event) => event.key === "Enter" && commit());
  node.set = (value) => {
    if (document.activeElement === node && node.value !== last) return;
    last = String(value);
    node.value = last;
    node.setAttribute("aria-invalid", "false");
  };
  node.retry = () => { last = ""; };
  return node;
}

/** Returns {node, show(settings, graph), retry()}; `onChange(changes)` hears every change that a person makes. */
export function buildControls({ settings, graph, onChange }) {
  const depth = segmented("Depth in hops", [1, 2, 3, 4, 5].map((hops) => [String(hops), String(hops)]), String(settings.depth), (key) => onChange({ depth: Number(key) }));
  const neighbors = segmented("Neighbours", [["all", "All"], ["sampled", "Sampled"]], settings.neighbors, (key) => onChange({ neighbors: key }));
  const fanouts = el("div", { class: "nx-row" });
  const sizes = segmented("Batch size in seeds, presets", BATCH_SIZES.filter((size) => size <= graph.num_nodes || size === 1).map((size) => [String(size), int(size)]), String(settings.batch_size), (key) => onChange({ batch_size: Number(key) }));
  const size = field("Batch size in seeds", { type: "number", width: "76px", attributes: { min: 1, max: graph.num_nodes }, onChange: (value) => onChange({ batch_size: value }) });
  const choice = segmented("Seeds", CHOICES, settings.choice, (key) => {
    if (key !== "node") onChange({ choice: key, ...(current.choice === "node" || current.choice === "given" ? { batch_size: 1 } : {}) });
    else if (name.value.trim() && name.checkValidity()) onChange({ node: name.value.trim() });
    else name.focus();
  });
  const percentile = field("Percentile of the degree", { type: "number", width: "64px", attributes: { min: 0, max: 100, step: "any" }, onChange: (value) => onChange({ percentile: value, choice: "percentile" }) });
  const nameLabel = graph.has_names ? "Node name or id" : "Node id";
  const name = field(nameLabel, { type: "text", width: "160px", attributes: { spellcheck: "false", autocomplete: "off", placeholder: graph.has_names ? `e.g. ${graph.hub}` : "e.g. 0" }, onChange: (value) => onChange({ node: value }) });
  const percentileGroup = group("Percentile (degree)", percentile);
  const node = el("div", { class: "nx-controls" },
    group("Depth (hops)", depth), group("Neighbours", neighbors), group("", fanouts),
    group("Batch size (seeds)", el("div", { class: "nx-row" }, sizes, size)),
    group("Seeds", choice), percentileGroup, group(nameLabel, name));
  const fanoutLabel = fanouts.previousSibling;
  let current = settings;
  let fields = [];

  const showFanouts = () => {
    if (fields.length !== current.fanouts.length) {
      fields = current.fanouts.map((_, i) => field(`Fanout at hop ${i + 1}, minus one for all`, {
        type: "number", width: "44px", attributes: { min: -1, step: 1, class: "nx-fanout" },
        onChange: (value) => onChange({ fanouts: current.fanouts.map((fanout, j) => (j === i ? value : fanout)) }),
      }));
      fanouts.replaceChildren(...fields);
      fanoutLabel.textContent = `Fanouts, hop 1 to ${fields.length}`;
    }
    fields.forEach((item, i) => { item.set(current.fanouts[i]); item.classList.toggle("nx-beyond", i >= current.depth); });
  };

  return {
    node,
    show(now) {
      current = now;
      depth.choose(String(now.depth));
      neighbors.choose(now.neighbors);
      sizes.choose(String(now.batch_size));
      choice.choose(now.choice);
      size.set(now.batch_size);
      percentile.set(now.percentile);
      percentileGroup.hidden = now.choice !== "percentile";
      if (now.node_text) name.set(now.choice === "node" && !graph.has_names ? now.nodes[0] : now.node_text);
      showFanouts();
    },
    /** Lets the same name be asked for again, after it was refused. */
    refuse() { name.setAttribute("aria-invalid", "true"); name.retry(); },
  };
}
