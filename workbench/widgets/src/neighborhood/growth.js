// Growth per hop on a log axis, and the share of the graph reached.
import { line, picture, text } from "../lib/chart.js";
import { svg } from "../lib/dom.js";
import { spread, stroke, textWidth, tip, wedge } from "./draw.js";
import { decade, int, share, short } from "./words.js";

export const FULL = "var(--nx-all)";
export const SAMPLED = "var(--nx-sampled)";
const WALKS = "var(--nx-walks)";

/** Slots, walks and unique nodes up to each hop; the wedge between slots and nodes is the redundancy. */
export function growthPicture(width, { result, settings, graph, estimated }) {
  const { all, sampled, walks } = result;
  const last = walks.length - 1;
  const narrow = width <= 500;
  const [left, right, top, bottom] = [52, narrow ? 148 : 176, 26, 40];
  const height = narrow ? 296 : 312;
  const low = Math.max(0, Math.floor(Math.log10(Math.max(result.num_seeds, 1))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(all.slots[last], walks[last], graph.num_nodes * 1.5))));
  const X = (hop) => left + ((width - left - right) * hop) / last;
  const Y = (value) => height - bottom - ((height - top - bottom) * (Math.log10(Math.max(value, 10 ** low)) - low)) / (high - low);
  const points = (values) => values.map((value, hop) => [X(hop), Y(value)]);
  const depth = settings.depth;
  const label = `Growth per hop on a log axis. At hop ${depth}: ${int(all.slots[depth])} tree slots, ${int(all.nodes[depth])} unique nodes with all neighbours, ${int(sampled.nodes[depth])} sampled.`;
  const node = picture(width, height, label);
  const every = high - low > 8 ? 2 : 1;
  for (let power = low; power <= high; power += every) {
    node.append(line(left, Y(10 ** power), width - right, Y(10 ** power)), text(left - 8, Y(10 ** power) + 4, decade(power), { anchor: "end" }));
  }
  for (let hop = 0; hop <= last; hop += 1) node.append(text(X(hop), height - bottom + 16, hop === 0 ? "seeds" : hop, { anchor: "middle", cls: hop === depth ? "lbl" : "" }));
  node.append(text((left + width - right) / 2, height - 4, "Hop", { anchor: "middle" }), text(0, 9, "Count up to the hop (log)"));
  node.append(line(X(depth), top, X(depth), height - bottom, { stroke: "var(--wb-ink2)", dash: "1 3" }));
  node.append(wedge(points(all.slots), points(all.nodes), FULL));
  node.append(line(left, Y(graph.num_nodes), width - right, Y(graph.num_nodes), { stroke: "var(--wb-ink2)" }));
  node.append(text(left + 4, Y(graph.num_nodes) - 5, narrow ? "whole graph" : `whole graph ${int(graph.num_nodes)}`, { cls: "ink" }));
  node.append(
    stroke(points(walks), WALKS, { "stroke-dasharray": "2 4" }),
    stroke(points(all.slots), FULL, { "stroke-dasharray": "6 3", "stroke-width": 1.5 }),
    stroke(points(sampled.slots), SAMPLED, { "stroke-dasharray": "6 3", "stroke-width": 1.5 }),
  );
  for (const [way, color, words] of [["sampled", SAMPLED, "sampled"], ["all", FULL, "all neighbours"]]) {
    node.append(stroke(points(result[way].nodes), color, { "stroke-width": settings.neighbors === way ? 3 : 2 }));
    result[way].nodes.forEach((value, hop) => node.append(svg("circle", { cx: X(hop), cy: Y(value), r: 3, fill: color }, tip(`hop ${hop}: ${estimated ? "about " : ""}${int(value)} unique nodes, ${words}; 10th to 90th percentile of the batches ${int(result[way].low[hop])} to ${int(result[way].high[hop])}`))));
  }
  const labels = spread([
    { value: all.slots[last], words: narrow ? "tree slots, all" : "tree slots, all neighbours", color: FULL, dash: "4 2" },
    { value: walks[last], words: "walks (d^L)", color: WALKS, dash: "2 2" },
    { value: sampled.slots[last], words: "tree slots, sampled", color: SAMPLED, dash: "4 2" },
    { value: all.nodes[last], words: narrow ? "unique, all" : "unique nodes, all", color: FULL },
    { value: sampled.nodes[last], words: narrow ? "unique, sampled" : "unique nodes, sampled", color: SAMPLED },
  ].map((item) => ({ ...item, y: Y(item.value), from: Y(item.value) })), 27, top + 4, height - bottom);
  for (const item of labels) {
    node.append(
      svg("path", { d: `M${X(last) + 5} ${item.from}L${X(last) + 16} ${item.y}`, stroke: "var(--wb-line)", fill: "none" }),
      svg("line", { x1: X(last) + 18, y1: item.y, x2: X(last) + 30, y2: item.y, stroke: item.color, "stroke-width": item.dash ? 2 : 3, "stroke-dasharray": item.dash }),
      text(X(last) + 36, item.y - 1, short(item.value), { cls: "lbl" }),
      text(X(last) + 36, item.y + 11, item.words),
    );
  }
  return node;
}

/** Two bars a hop: unique nodes within the hop as a share of the graph. */
export function sharePicture(width, { result, settings, graph, stacked }) {
  const [left, right, top, bottom, height] = [40, 8, 26, 40, stacked ? 240 : 312];
  const last = result.walks.length - 1;
  const Y = (ratio) => height - bottom - (height - top - bottom) * ratio;
  const slot = (width - left - right) / last;
  const bar = Math.min(32, slot / 2 - 4);
  const node = picture(width, height, "Share of the graph reached per hop, all neighbours and sampled");
  for (const mark of [0, 0.25, 0.5, 0.75, 1]) {
    node.append(line(left, Y(mark), width - right, Y(mark), { stroke: mark ? "var(--wb-grid)" : "var(--wb-line)" }), text(left - 8, Y(mark) + 4, `${mark * 100}%`, { anchor: "end" }));
  }
  for (let hop = 1; hop <= last; hop += 1) {
    const centre = left + slot * (hop - 0.5);
    for (const [way, x, color] of [["all", centre - bar - 1, FULL], ["sampled", centre + 1, SAMPLED]]) {
      const ratio = result[way].nodes[hop] / graph.num_nodes;
      const words = share(ratio);
      // Words wider than their bar stand out to the side away from the other bar.
      const [at, anchor] = textWidth(words) <= bar + 2 ? [x + bar / 2, "middle"] : way === "all" ? [x + bar, "end"] : [x + 2, "start"];
      node.append(
        svg("rect", { x, y: Y(ratio), width: bar, height: Math.max(1, Y(0) - Y(ratio)), fill: color, opacity: hop <= settings.depth ? 1 : 0.3 }, tip(`hop ${hop}, ${way === "all" ? "all neighbours" : "sampled"}: ${words}`)),
        text(at, Y(ratio) - 4, words, { anchor, cls: hop <= settings.depth ? "ink" : "" }),
      );
    }
    node.append(text(centre, height - bottom + 16, hop, { anchor: "middle", cls: hop === settings.depth ? "lbl" : "" }));
  }
  node.append(text((left + width - right) / 2, height - 4, "Hop", { anchor: "middle" }));
  [[FULL, "all neighbours"], [SAMPLED, "sampled"]].forEach(([color, words], i) => {
    node.append(svg("rect", { x: left + i * 108, y: 1, width: 8, height: 8, fill: color }), text(left + i * 108 + 14, 9, words));
  });
  return node;
}
