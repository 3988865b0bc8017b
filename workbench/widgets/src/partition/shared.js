// Questions that all views of one widget ask alike: the second view of the same page shares the answer of the first.
// (A connection lets the newest ask of a question win, so two views that asked apart would cancel each other. What views
// ask in different words, such as the edges of what each has in view, they ask by a key of their own.)

const ENTRIES = new WeakMap(); // connection -> question -> the newest ask

export function sharedAsk(connection, question, args, { signal, onProgress } = {}) {
  if (!ENTRIES.has(connection)) ENTRIES.set(connection, new Map());
  const entries = ENTRIES.get(connection);
  const key = JSON.stringify(args);
  let entry = entries.get(question);
  if (!entry || entry.key !== key || entry.settled) {
    entry = { key, settled: false, stop: new AbortController(), listeners: new Set() };
    const mine = entry;
    const settle = () => { mine.settled = true; };
    mine.promise = connection.ask(question, args, { signal: mine.stop.signal, onProgress: (...news) => mine.listeners.forEach((listener) => listener(...news)) });
    mine.promise.then(settle, settle);
    entries.set(question, mine);
  }
  if (onProgress) entry.listeners.add(onProgress);
  const { stop } = entry;
  signal?.addEventListener("abort", () => stop.abort());
  return entry.promise;
}
