// Bundles of edges between the cells of a map, drawn below the nodes: wider and darker where they hold more.

const STEPS = 6; // widths, in equal ratios of the number of edges
const WIDEST = 5; // CSS pixels

/**
 * bundles: {pairs: cells of each, counts: [inside a part, cut, cut of the selected part] of each}
 * look: {place(cell) -> [x, y] in device pixels, theme, selected, showCut, ratio}
 */
export function drawBundles(pen, { pairs, counts }, { place, theme, selected, showCut, ratio }) {
  const num = pairs.length / 2;
  const { width, height } = pen.canvas;
  let most = 1;
  for (const value of counts) most = Math.max(most, value);
  const scale = STEPS / Math.log(most + 1);
  const ink = theme.ink.map((part) => Math.round(255 * part)).join(",");
  const strengths = selected ? [0.12, 0.2, 0.75] : [0.2, 0.7, 0.7];
  pen.save();
  pen.lineCap = "round";
  for (const kind of showCut ? [0, 1, 2] : [0]) {
    const paths = Array.from({ length: STEPS }, () => new Path2D());
    for (let i = 0; i < num; i += 1) {
      const value = counts[3 * i + kind];
      if (!value) continue;
      const path = paths[Math.min(STEPS - 1, Math.floor(Math.log(value + 1) * scale))];
      const [x0, y0] = place(pairs[2 * i]);
      const [x1, y1] = place(pairs[2 * i + 1]);
      if (Math.max(x0, x1) < 0 || Math.max(y0, y1) < 0 || Math.min(x0, x1) > width || Math.min(y0, y1) > height) continue; // out of view
      path.moveTo(x0, y0);
      path.lineTo(x1, y1);
    }
    paths.forEach((path, step) => {
      const share = (step + 1) / STEPS;
      pen.strokeStyle = `rgba(${ink},${(strengths[kind] * share).toFixed(3)})`;
      pen.lineWidth = ratio * Math.max(0.5, WIDEST * share ** 2);
      pen.stroke(path);
    });
  }
  pen.restore();
}
