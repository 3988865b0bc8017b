// What a partition costs in training, and whether the better cut pays off: the kernel computes, this draws.
import { frame, niceRange, text } from "../lib/chart.js";
import { el, labelled, select, svg, table } from "../lib/dom.js";

const DASHES = ["", "5 4", "2 3", "8 3 2 3"];
const MAX_BESIDE_CHART = 3; // partitions in a table that shares its row with the chart

export function costSection({ onChange }) {
  const controls = el("span", { class: "pe-cost-controls" });
  const model = el("small");
  const verdict = el("div", { class: "pe-verdict", role: "status" });
  const body = el("div", { class: "pe-cost-body" });
  const node = el("section", { class: "pe-cost", "aria-label": "What it costs" },
    el("div", { class: "pe-top" }, el("h3", {}, "What it costs"), model, controls),
    verdict, body);
  return {
    node,
    /** Shows what is set. */
    set({ choices, cost }) {
      const epochs = select("Epochs", choices.epochs.map((value) => [String(value), value.toLocaleString("en")]), String(cost.epochs), (value) => onChange({ epochs: Number(value) }));
      const link = select("Link speed of each part in Gbit/s", choices.links.map((value) => [String(value), String(value)]), String(cost.link_gbit), (value) => onChange({ link_gbit: Number(value) }));
      controls.replaceChildren(labelled("Epochs", epochs), labelled("Link", link), el("small", {}, "Gbit/s"));
    },
    draw(costs, width) {
      model.textContent = costs.model;
      const words = [...costs.verdicts, ...costs.scaling];
      verdict.hidden = !words.length;
      verdict.replaceChildren(...words.map((line) => el("p", {}, line)));
      verdict.classList.toggle("pe-pays", costs.pays);
      verdict.classList.toggle("pe-open", !costs.verdicts.length);
      const isWide = costs.labels.length > MAX_BESIDE_CHART;
      body.classList.toggle("pe-stacked", isWide);
      const room = width >= 700 && !isWide ? Math.floor((width - 24) / 2) : width;
      const heads = ["", ...costs.labels.map((label) => ({ text: label, num: true, width: isWide ? "72px" : "96px" }))];
      const rows = costs.rows.map(([label, ...cells]) => [label, ...cells.map((cell) => el("b", {}, cell))]);
      body.replaceChildren(el("div", { class: "pe-cost-table" }, table(heads, rows, { label: "Predicted cost of each partition" })),
        el("div", {}, el("h4", {}, costs.verdicts.length ? "Does the better cut pay off?" : "Partition and transfer"), chart(costs, Math.min(room, 680))));
    },
  };
}

function chart(costs, width) {
  const { epochs } = costs.settings;
  const high = niceRange(costs.lines.flat(), { zero: true })[1];
  const axes = frame({
    width, height: 212, margin: { left: 44, right: Math.max(72, 18 + 6 * Math.max(...costs.labels.map((label) => label.length))), top: 24, bottom: 24 },
    x: { range: [0, epochs], title: `${epochs.toLocaleString("en")} epochs` }, y: { range: [0, high], title: "partition + transfer, s" },
    label: `Seconds of partitioning and transfer against epochs. ${costs.short ?? ""}`,
  });
  const { X, Y } = axes;
  const ends = spread(costs.lines.map(([, end]) => Y(end)), axes.inner.bottom - 2);
  costs.lines.forEach(([start, end], i) => {
    axes.plot.append(svg("line", { x1: X(0), y1: Y(start), x2: X(epochs), y2: Y(end), stroke: "var(--wb-ink)", ...strokeOf(costs.ways, i) }),
      text(X(epochs) + 12, ends[i] + 4, costs.labels[i], { cls: "ink" }));
    if (Math.abs(ends[i] - Y(end)) > 2) axes.plot.append(svg("line", { x1: X(epochs) + 1, y1: Y(end), x2: X(epochs) + 10, y2: ends[i], stroke: "var(--wb-ink2)" }));
  });
  if (costs.crossing) {
    const [at, seconds] = costs.crossing;
    const late = X(at) > width - 210;
    // Early on both lines begin below: the words stand above them, else under the crossing.
    const early = X(at) < axes.inner.left + 90;
    const end = early ? axes.inner.top + 4 : axes.inner.bottom;
    const epochs = Math.max(1, Math.ceil(at));
    const words = `pays off after ${epochs.toLocaleString("en")} epoch${epochs === 1 ? "" : "s"}`;
    axes.plot.append(
      svg("line", { x1: X(at), x2: X(at), y1: Y(seconds) + (early ? -5 : 5), y2: end, stroke: "var(--wb-accent)", "stroke-dasharray": "2 3" }),
      svg("circle", { cx: X(at), cy: Y(seconds), r: 4, fill: "var(--wb-bg)", stroke: "var(--wb-accent)", "stroke-width": 2 }),
      text(X(at) + (late ? -8 : 8), early ? end + 10 : end - 8, words, { anchor: late ? "end" : "start", fill: "var(--wb-accent)" }));
  }
  return axes.node;
}

/** Dashes tell methods apart, or numbers of parts of one method; of both, the width tells the number of parts. */
function strokeOf(ways, i) {
  const [methods, counts] = [0, 1].map((at) => [...new Set(ways.map((way) => way[at]))]);
  const [method, count] = [methods.indexOf(ways[i][0]), counts.indexOf(ways[i][1])];
  const isMixed = methods.length > 1 && counts.length > 1;
  return { "stroke-width": isMixed ? 1 + 0.9 * count : 2, "stroke-dasharray": DASHES[isMixed ? method : method + count] };
}

/** Moves label heights apart so that none covers another, and none falls below `lowest`. */
function spread(heights, lowest) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const moved = [...heights];
  for (let i = 1; i < order.length; i++) moved[order[i]] = Math.max(moved[order[i]], moved[order[i - 1]] + 14);
  let limit = lowest;
  for (const i of order.toReversed()) { moved[i] = Math.min(moved[i], limit); limit = moved[i] - 14; }
  return moved;
}

