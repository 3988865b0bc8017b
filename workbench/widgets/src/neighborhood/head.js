// The top of the explorer: status, the sentence, the key figures.
import { button, el } from "../lib/dom.js";
import { seconds } from "../lib/format.js";
import { fanouts, hops, int, ordinal, plural, share, short } from "./words.js";

const NAMES = { sizes: "sizes of single seeds", hubs: "hubs", saturation: "batch sizes", access: "access", component: "components", reach: "reach", parts: "parts" };

/**
 * The line at the right of the title: what is measured, how far, and what one can do about it. Its nodes stay, so that
 * a button is not replaced under the pointer: returns {nodes, show(model)}.
 */
export function statusLine({ onCancel, onAgain }) {
  const dot = el("i", { class: "nx-dot" });
  const word = el("b");
  const text = el("span");
  const fill = el("i");
  const bar = el("span", { class: "wb-bar nx-progress", role: "progressbar", "aria-label": "Measured", "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  const cancel = button("Cancel", { label: "Cancel the measurement", onClick: onCancel, kind: "nx-small" });
  const again = button("Measure the rest", { onClick: onAgain, kind: "nx-small" });
  const show = (model) => {
    const [state, words, fraction] = statusOf(model);
    const [color, name] = { exact: ["done", "Done"], estimating: ["running", "Running"], cancelled: ["paused", "Cancelled"], failed: ["failed", "Failed"] }[state];
    dot.style.background = word.style.color = `var(--wb-${color})`;
    word.textContent = name;
    text.textContent = words;
    bar.hidden = cancel.hidden = fraction === null;
    again.hidden = state !== "cancelled";
    if (fraction === null) return;
    bar.setAttribute("aria-valuenow", Math.round(100 * fraction));
    fill.style.width = `${100 * fraction}%`;
  };
  return { nodes: [dot, word, text, bar, cancel, again], show };
}

/** The state, what to say about it, and how far it is (null where nothing is measured). */
function statusOf({ status, result, busy, trouble, preview }) {
  if (preview) return ["estimating", "estimate from the curves below", 0];
  if (trouble) return ["failed", "last numbers kept", null];
  if (!result) return ["estimating", "measuring the first batch", 0];
  if (status === "estimating") return [status, `${["estimate shown", "first batch shown"][result.measured] ?? "mean so far"}, ${result.measured} of ${batchesOf(result)}`, result.measured / result.num_batches];
  if (status === "cancelled" && result.measured === 0) return [status, "estimate, no batch measured", null];
  if (status === "cancelled") return [status, `mean of ${result.measured} of ${batchesOf(result)}`, null];
  const batches = plural(result.measured, "batch", "batches");
  const [name, progress] = Object.entries(busy).find(([, value]) => value) ?? [];
  if (name) return ["exact", `exact, ${batches}; now ${NAMES[name]}: ${progress[1]}`, progress[0]];
  return ["exact", `exact, ${batches}, ${seconds(result.elapsed_s)}`, null];
}

const batchesOf = (result) => plural(result.num_batches, "batch", "batches");
const bold = (words) => el("b", {}, words);

function who({ settings, result }) {
  const count = result.num_seeds;
  const one = count === 1;
  if (settings.choice === "node") return ["The seed ", bold(settings.node_text)];
  if (settings.choice === "given") return one ? ["The seed ", bold(settings.node_text)] : ["The ", bold(int(count)), " given seeds"];
  if (settings.choice === "hub") return one ? ["The hub ", bold(settings.first_seed)] : ["The ", bold(int(count)), " largest hubs"];
  if (settings.choice === "median") return one ? ["The median seed ", bold(settings.first_seed)] : ["A batch of ", bold(int(count)), " median seeds"];
  if (settings.choice === "percentile") {
    const where = `at the ${ordinal(settings.percentile)} percentile`;
    return one ? ["The seed ", bold(settings.first_seed), ` ${where}`] : ["A batch of ", bold(int(count)), ` seeds ${where}`];
  }
  return one ? ["One random seed on average"] : ["A batch of ", bold(int(count)), " seeds"];
}

/** What a batch reads, in one sentence. */
export function sentence(model) {
  const { settings, result, graph, estimated } = model;
  const depth = settings.depth;
  const part = (way) => el("span", { class: `nx-mark nx-${way}` }, `${estimated ? "≈ " : ""}${share(result[way].nodes[depth] / graph.num_nodes)}`);
  const used = fanouts(settings.fanouts.slice(0, depth));
  const [first, second] = settings.neighbors === "all" ? ["all", "sampled"] : ["sampled", "all"];
  const way = { all: "all neighbours", sampled: `sampled ${used}` };
  const later = { all: "All neighbours", sampled: `Sampled ${used}` };
  const lead = part(first);
  lead.append(" of the graph");
  return [...who(model), ", ", bold(hops(depth)), `, ${way[first]}: `, el("span", { class: "nx-together" }, "reads ", lead, "."), " ", el("span", { class: "nx-together" }, `${later[second]}: `, part(second), ".")];
}

/** A remark where the seeds read nothing, which is right but baffling. */
export function remark({ result, graph }) {
  if (result.all.edges[1] > 0) return "";
  const them = result.num_seeds === 1 ? "This seed has" : "These seeds have";
  if (graph.num_edges === 0) return "The graph has no edges, so nothing is read beyond the seeds.";
  return graph.symmetric ? `${them} no neighbours: nothing is read beyond the seeds.` : `${them} no in-edges, so nothing is read beyond the seeds. For messages both ways: graph.to_undirected().`;
}

/** At which hop how much of the graph is reached with all neighbours. */
export function reachWords(reach, graph) {
  const found = reach.nodes.at(-1);
  const last = reach.nodes.length - 1;
  const parts = reach.hops.filter(([, hop]) => hop !== null).map(([part, hop]) => `${share(part)} of the graph at ${hop === 0 ? "the seeds" : `hop ${hop}`}`);
  const whole = found === graph.num_nodes ? "the whole graph" : `all that can be reached (${short(found)}, ${share(found / graph.num_nodes)})`;
  parts.push(reach.is_complete ? `${whole} at ${last === 0 ? "the seeds" : `hop ${last}`}` : `${share(found / graph.num_nodes)} at hop ${last}, and more beyond`);
  return `${reach.num_seeds === 1 ? "This seed reaches" : `These ${int(reach.num_seeds)} seeds reach`} ${parts.join(", ")}.`;
}

/** The largest hubs, each with the hop at which it comes in; a click makes it the seed. */
export function reachedHubs(reach, onSeed) {
  return reach.hubs.map(([node, label, degree, hop]) => button(`${label}: ${short(degree)}, ${hop === null ? "not reached" : hop === 0 ? "a seed" : `hop ${hop}`}`, {
    label: `${label}, ${plural(degree, "neighbour")}, ${hop === null ? "not reached" : hop === 0 ? "a seed itself" : `reached at hop ${hop}`}: make it the seed`, onClick: () => onSeed(node), kind: "nx-small",
  }));
}

/** The key figures of the graph. */
export function facts({ graph, details }) {
  const component = details.component;
  const largest = !component ? "…" : component.error ? "–" : short(component.largest);
  return [
    [graph.num_nodes < 1e7 ? int(graph.num_nodes) : short(graph.num_nodes), graph.num_nodes === 1 ? "node" : "nodes"],
    [graph.num_edges < 1e7 ? int(graph.num_edges) : short(graph.num_edges), "directed edges"],
    [graph.mean_degree.toFixed(1), "mean degree"],
    [int(graph.hub_degree), `neighbours of ${graph.hub}`],
    [component && !component.error && component.largest < 1e7 ? int(component.largest) : largest, "in the largest component"],
  ].map(([value, words]) => el("div", {}, el("b", {}, value), el("span", { title: words }, words)));
}
