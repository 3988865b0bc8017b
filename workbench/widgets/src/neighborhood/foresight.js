// What the page can say of a change before the kernel does: from numbers that it has been given already.

/** Sets `model.settings` and `model.preview` to what was told by the kernel together with what was asked since. */
export function foresee(model) {
  const { asked, told } = model;
  const settings = { ...told, ...asked };
  model.settings = told;
  model.preview = null;
  if (!model.result || !Object.keys(asked).length || !reaches(asked, model)) return;
  const names = Object.keys(asked);
  if (names.every((name) => name === "depth" || name === "neighbors")) model.settings = settings;
  else if (names.every((name) => name === "depth" || name === "neighbors" || name === "batch_size")) {
    const result = fromCurves(model, asked.batch_size);
    if (result) model.preview = { settings, result };
  }
}

/** The settings as the controls show them: what a person chose stays chosen while the kernel has not answered. */
export function chosen({ settings, asked }) {
  const named = asked.node === undefined ? {} : { choice: "node", nodes: [asked.node], node_text: asked.node };
  return { ...settings, ...asked, ...named };
}

/** Whether the hops asked for are among those measured. */
function reaches({ depth = 1 }, { result, told }) {
  return depth < result.all.nodes.length && depth <= told.fanouts.length;
}

/** The unique nodes of a batch of random seeds, read off the measured curves; null where they do not tell. */
function fromCurves({ details, told }, size) {
  const curves = details.saturation;
  if (told.choice !== "random" || !curves || curves.error || String(curves.fanouts) !== String(told.fanouts)) return null;
  const sizes = curves.batch_sizes;
  const next = sizes.findIndex((value) => value >= size);
  if (next < 0) return null;
  const before = sizes[next] === size ? next : next - 1;
  const part = next === before ? 0 : Math.log(size / sizes[before]) / Math.log(sizes[next] / sizes[before]);
  const read = (curve) => ({ nodes: curve.map((nodes) => nodes[before] * (nodes[next] / nodes[before]) ** part) });
  return { num_seeds: size, all: read(curves.all), sampled: read(curves.sampled) };
}
