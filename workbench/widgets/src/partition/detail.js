// Level of detail: of the nodes that fall on one pixel only one is drawn, and none that is out of view.

export const DETAIL_FROM = 30_000; // nodes; fewer are all drawn

/**
 * Returns the nodes to draw in a view, in the order of their roles: the last node of each pixel, the one with the
 * highest role first. What is left out would have been painted over.
 *
 * positions: uint16 pairs, y upwards; roles: a number a node; view: {scale, x, y} of the canvas fraction.
 */
export function visibleNodes(positions, roles, view, width, height) {
  const taken = new Int32Array(width * height).fill(-1);
  const stepX = (view.scale * width) / 65535;
  const stepY = (view.scale * height) / 65535;
  const left = view.x * width;
  const top = (view.scale + view.y) * height;
  const num = positions.length / 2;
  let count = 0;
  for (let node = 0; node < num; node += 1) {
    const x = Math.floor(positions[2 * node] * stepX + left);
    const y = Math.floor(top - positions[2 * node + 1] * stepY);
    if (x < 0 || y < 0 || x >= width || y >= height) continue;
    const pixel = y * width + x;
    const other = taken[pixel];
    if (other < 0) count += 1;
    if (other < 0 || roles[node] >= roles[other]) taken[pixel] = node;
  }
  const nodes = new Uint32Array(count);
  let at = 0;
  for (let pixel = 0; pixel < taken.length; pixel += 1) if (taken[pixel] >= 0) nodes[at++] = taken[pixel];
  return nodes;
}
