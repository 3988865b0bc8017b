// The other half of workbench/dashboard/delta.py: applies a change to a view.

/** Returns `old` after a change; parts that did not change stay the same objects, so that they need no redrawing. */
export function patched(old, change) {
  if (change === null || typeof change !== "object" || Array.isArray(change)) return change;
  if ("$merge" in change) {
    const next = { ...old };
    for (const key of change.$gone ?? []) delete next[key];
    for (const [key, value] of Object.entries(change.$merge)) next[key] = patched(next[key], value);
    return next;
  }
  if ("$items" in change) return old.map((item, i) => (i in change.$items ? patched(item, change.$items[i]) : item));
  if ("$tail" in change) {
    const columns = old.shape.slice(1).reduce((a, b) => a * b, 1);
    const kept = change.$tail * columns;
    const joined = new old.constructor(kept + change.rows.length);
    joined.set(old.subarray(0, kept));
    joined.set(change.rows, kept);
    joined.shape = [change.$tail + change.rows.shape[0], ...old.shape.slice(1)];
    return joined;
  }
  return change;
}

/** The rows of a 2-D array as small arrays of numbers. */
export function rows(array) {
  if (!array) return [];
  const [count, width] = array.shape;
  return Array.from({ length: count }, (_, i) => Array.from(array.subarray(i * width, (i + 1) * width)));
}
