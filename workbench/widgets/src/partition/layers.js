// What a map shows of one partition: the tint of each node, its role for the selected part, and the edges in order.

const NO_CLASS = 255;
const GREY = 8; // palette entry of nodes without a class
const PLAIN = 7;
const TRAIN = 5;

/** Palette entry (0..9) of each node: by part, class or training node. */
export function tintsOf(by, column, map) {
  const num = map.positions.length / 2;
  const tints = new Uint8Array(num);
  for (let i = 0; i < num; i++) {
    if (by === "class" && map.classes) tints[i] = map.classes[i] === NO_CLASS ? GREY : map.classes[i] & 7;
    else if (by === "train") tints[i] = (map.train[i >> 3] >> (7 - (i & 7))) & 1 ? TRAIN : PLAIN;
    else tints[i] = column.assignment[i] & 7;
  }
  return tints;
}

/** Every node grey, without edges. */
export const undividedLayer = (num) => ({ tints: new Uint8Array(num).fill(GREY), roles: new Uint8Array(num), edges: new Uint32Array(0), ranges: [] });

/** The drawn edges of a map: those inside a part, cut ones, and cut ones of the selected part; with their ranges. */
export function orderedEdges(edges, assignment, part) {
  const num = edges.length / 2;
  const kinds = new Uint8Array(num);
  const counts = [0, 0, 0];
  for (let i = 0; i < num; i++) {
    const a = assignment[edges[2 * i]];
    const b = assignment[edges[2 * i + 1]];
    kinds[i] = a === b ? 0 : part !== null && (a === part || b === part) ? 2 : 1;
    counts[kinds[i]]++;
  }
  const starts = [0, counts[0], counts[0] + counts[1]];
  const ranges = starts.map((start, kind) => [2 * start, 2 * counts[kind]]);
  const ordered = new Uint32Array(edges.length);
  for (let i = 0; i < num; i++) {
    const slot = starts[kinds[i]]++;
    ordered[2 * slot] = edges[2 * i];
    ordered[2 * slot + 1] = edges[2 * i + 1];
  }
  return { edges: ordered, ranges };
}

/** The middle (median) of each part above the strip, from at most 20,000 nodes; null for parts too few to say. */
export function middles(column, map) {
  const { positions } = map;
  const num = positions.length / 2;
  const stride = Math.max(1, Math.floor(num / 20_000));
  const xs = Array.from({ length: column.num_parts }, () => []);
  const ys = Array.from({ length: column.num_parts }, () => []);
  for (let i = 0; i < num; i += stride) {
    if (positions[2 * i + 1] < map.strip_y * 65535) continue;
    xs[column.assignment[i]].push(positions[2 * i]);
    ys[column.assignment[i]].push(positions[2 * i + 1]);
  }
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1] / 65535;
  return xs.map((values, part) => (values.length > 4 ? [median(values), median(ys[part])] : null));
}

/** Radius of a node in CSS pixels: smaller where there are more, larger when one looks closer. */
export const nodeRadius = (num, zoom) => Math.min(7, Math.max(0.65, 2.1 * (2700 / Math.max(num, 300)) ** 0.3) * zoom ** 0.45);

/** Opacity of the three kinds of edges. */
export function strokesOf({ numEdges, zoom, selected, showCut, dark }) {
  const many = Math.min(1, Math.max(0.16, (6000 / Math.max(numEdges, 1)) ** 0.4) * zoom ** 0.5);
  const inner = (dark ? 0.13 : 0.11) * many;
  if (!showCut) return [inner, 0, 0];
  return selected ? [inner, 0.12 * many, Math.max(0.1, 0.4 * many)] : [inner, 0.36 * many, 0];
}
