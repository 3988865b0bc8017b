// The quotient graph: one disc a part (area: nodes), a line between parts (width: cut edges). The same part stands at the
// same place in every map.
import { picture, text } from "../lib/chart.js";
import { inkOn, partColor, partRgb } from "../lib/color.js";
import { svg } from "../lib/dom.js";
import { count } from "../lib/format.js";

const MAX_PARTS = 64;
const MAX_LABELLED = 12;

export function quotient({ column, width, height, part, symmetric, onPick }) {
  const { num_parts: parts, cut_edges: matrix } = column;
  const node = picture(width, height, `Quotient graph of ${column.label}: ${parts} parts and the edges cut between them`);
  if (!matrix || parts > MAX_PARTS) {
    node.append(text(width / 2, height / 2, `${parts} parts are too many to draw; the figures below have them all`, { anchor: "middle" }));
    return node;
  }
  const turn = parts === 4 ? Math.PI / 4 : -Math.PI / 2;
  const [cx, cy] = [width / 2, height / 2 - 8];
  const largest = Math.min(38, (2.2 * Math.min(width, height)) / (parts + 3));
  const place = (i) => [cx + (cx - largest - 24) * Math.cos(turn + (2 * Math.PI * i) / parts) * 0.94, cy + (cy - largest - 16) * Math.sin(turn + (2 * Math.PI * i) / parts)];
  const cut = (i, j) => (symmetric ? matrix[i * parts + j] : matrix[i * parts + j] + matrix[j * parts + i]);
  const most = Math.max(1, ...matrix) * (symmetric ? 1 : 2);
  const pairs = [];
  for (let i = 0; i < parts; i++) for (let j = 0; j < i; j++) if (cut(i, j)) pairs.push([i, j, cut(i, j)]);
  for (const [i, j, edges] of pairs) {
    const on = part === null || i === part || j === part;
    const [[x1, y1], [x2, y2]] = [place(i), place(j)];
    node.append(svg("line", { x1, y1, x2, y2, stroke: "var(--wb-ink)", "stroke-width": Math.max(0.75, (24 * edges) / most), opacity: on ? 0.5 : 0.14 },
      svg("title", {}, `parts ${j} and ${i}: ${count(edges)} edges cut`)));
  }
  if (parts <= 6) {
    for (const [i, j, edges] of pairs) {
      const across = parts === 4 && (i - j) % 2 === 0;
      const [[x1, y1], [x2, y2]] = [place(i), place(j)];
      const share = across ? 0.3 : 0.5;
      node.append(text(x1 + (x2 - x1) * share, y1 + (y2 - y1) * share + 4, count(edges), { anchor: "middle", cls: "ink pe-on-line" }));
    }
  }
  const mean = column.nodes.reduce((a, b) => a + b, 0) / parts;
  for (let i = 0; i < parts; i++) {
    const [x, y] = place(i);
    const r = Math.max(3, Math.min(largest * 1.3, largest * Math.sqrt(column.nodes[i] / mean)));
    const ink = inkOn(partRgb(i));
    const disc = svg("g", { class: "pe-disc", onclick: () => onPick(i) },
      svg("title", {}, `part ${i}: ${count(column.nodes[i])} nodes`),
      svg("circle", { cx: x, cy: y, r: r + 4, fill: "var(--wb-bg)" }),
      svg("circle", { cx: x, cy: y, r, fill: partColor(i), stroke: part === i ? "var(--wb-ink)" : "none", "stroke-width": 2.5 }));
    if (parts <= MAX_LABELLED && r > 22) disc.append(text(x, y - 1, `part ${i}`, { anchor: "middle", cls: "pe-on-disc pe-strong", fill: ink }), text(x, y + 14, count(column.nodes[i]), { anchor: "middle", cls: "pe-on-disc", fill: ink }));
    else if (r > 8) disc.append(text(x, y + 4, String(i), { anchor: "middle", cls: "pe-on-disc", fill: ink }));
    node.append(disc);
  }
  node.append(text(8, height - 8, "line: cut edges between two parts; disc area: nodes"));
  return node;
}
