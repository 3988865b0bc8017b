// The view's line to the kernel: the snapshot, deltas, questions with answers, commands, and a heartbeat.
// The other half is base.py, where the messages are listed.
import { decode } from "./transport.js";

const LIVE_PING_MS = 1500;
const QUIET_PING_MS = 4000; // the kernel stops sending to a page that it has not heard for 5 s
const STALE_MS = 7000;
const NUDGE_MS = [12, 24, 36, 48]; // after an ask
const CONNECTIONS = new Map(); // initialize() and render() get different proxies of one model: the trait joins them

export class CancelledError extends Error {}

class Connection {
  constructor(model) {
    this.model = model;
    this.client = Math.random().toString(36).slice(2);
    this.snapshot = {};
    this.seq = -1;
    this.snapshotSeq = -1; // deltas move `seq` on, never the snapshot
    this.state = "running"; // or "stale": no word from the kernel; or "disconnected": there is no kernel
    this.views = 0;
    this.heardMs = performance.now();
    this.pending = new Map();
    this.listeners = { snapshot: new Set(), delta: new Set(), state: new Set() };
    this.count = 0;
    this.load();
  }

  /** Call `listener(snapshot)` whenever the whole state came; returns the function that ends it. */
  onSnapshot(listener) { return this.#listen("snapshot", listener); }
  /** Call `listener(body)` for every delta. */
  onDelta(listener) { return this.#listen("delta", listener); }
  /** Call `listener(state)` when the connection's state changes. */
  onState(listener) { return this.#listen("state", listener); }

  #listen(kind, listener) {
    this.listeners[kind].add(listener);
    return () => this.listeners[kind].delete(listener);
  }

  #tell(kind, value) {
    for (const listener of [...this.listeners[kind]]) listener(value);
  }

  /** Seconds since the kernel was last heard. */
  get silentS() { return (performance.now() - this.heardMs) / 1000; }

  #setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.#tell("state", state);
  }

  load() {
    const packed = this.model.get("_snapshot");
    if (!packed) return;
    this.seq = packed.seq;
    this.snapshotSeq = packed.seq;
    this.snapshot = decode(packed.content, packed.buffers);
    this.#tell("snapshot", this.snapshot);
  }

  /** For a view that begins: the snapshot here may be older than the deltas that other views were told; ask for all. */
  refresh() {
    if (this.seq > this.snapshotSeq) this.send({ k: "hello", have: -1 });
  }

  send(message) {
    try {
      this.model.send({ client: this.client, have: this.seq, ...message });
      return true;
    } catch {
      this.#setState("disconnected"); // after a kernel restart the comm is gone and send throws
      return false;
    }
  }

  /**
   * Ask the kernel. A newer ask of the same question and key replaces this one, whose promise is then rejected with
   * CancelledError. `onProgress(fraction, text)` hears how far it is; `signal` (AbortSignal) cancels it.
   */
  ask(question, args = {}, { onProgress, signal, key = "" } = {}) {
    for (const [id, other] of this.pending) {
      if (other.question === question && other.key === key) this.#settle(id, "reject", new CancelledError("a newer question came"));
    }
    const id = `${this.client}:${++this.count}`;
    const promise = this.#wait(id, { question, key, onProgress });
    signal?.addEventListener("abort", () => {
      if (this.pending.has(id)) this.send({ k: "cancel", id });
      this.#settle(id, "reject", new CancelledError("cancelled"));
    });
    if (!this.send({ k: "ask", id, question, arguments: args, key })) {
      this.#settle(id, "reject", new Error("The kernel is gone: run the cell again."));
    }
    this.#nudge(id);
    return promise;
  }

  /** Tell the kernel to do something, also while a cell runs; resolves when it was done. */
  command(name, args = {}) {
    const id = `${this.client}:${++this.count}`;
    const promise = this.#wait(id, {});
    if (!this.send({ k: "command", id, name, arguments: args })) {
      this.#settle(id, "reject", new Error("The kernel is gone: run the cell again."));
    }
    return promise;
  }

  /**
   * Send a few words more while an answer is awaited. A Jupyter server holds a small message back until the one before
   * was acknowledged, and a browser's machine acknowledges up to 40 ms late, unless it has something to send.
   */
  #nudge(id) {
    for (const delay of NUDGE_MS) setTimeout(() => this.pending.has(id) && this.send({ k: "nudge" }), delay);
  }

  #wait(id, entry) {
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject, ...entry }));
  }

  #settle(id, how, value) {
    const entry = this.pending.get(id);
    this.pending.delete(id);
    entry?.[how](value);
  }

  receive(message, buffers) {
    this.heardMs = performance.now();
    this.#setState("running");
    if (message.k === "delta") this.#receiveDelta(message, buffers);
    else if (message.k === "pong" && message.seq > this.seq) this.send({ k: "hello" });
    else if (message.k === "progress") this.pending.get(message.id)?.onProgress?.(message.fraction, message.text);
    else if (message.k === "answer") this.#receiveAnswer(message, buffers);
    else if (message.k === "done") {
      this.#settle(message.id, message.error ? "reject" : "resolve", message.error ? new Error(message.error) : undefined);
    }
  }

  #receiveDelta(message, buffers) {
    if (message.from === this.seq) {
      this.seq = message.to;
      this.#tell("delta", decode(message.body, buffers));
    } else if (message.to > this.seq) {
      this.send({ k: "hello" }); // a gap: ask for the whole state
    }
  }

  #receiveAnswer(message, buffers) {
    if (!this.pending.has(message.id)) return; // another page's answer, or one that was replaced
    if (message.cancelled) this.#settle(message.id, "reject", new CancelledError("cancelled"));
    else if (message.error !== undefined) this.#settle(message.id, "reject", new Error(message.error));
    else this.#settle(message.id, "resolve", decode(message.body, buffers));
  }

  beat() {
    if (this.state === "disconnected" || document.hidden || !this.views) return;
    this.send({ k: "ping" });
    if (performance.now() - this.heardMs > STALE_MS) this.#setState("stale");
  }
}

/** For a widget's initialize(): opens the connection of a model; returns the clean-up function. */
export function openConnection(model) {
  const connection = new Connection(model);
  const uid = model.get("_client_uid");
  CONNECTIONS.set(uid, connection);
  const load = () => connection.load();
  const receive = (message, buffers) => connection.receive(message, buffers);
  const wake = () => document.hidden || connection.send({ k: "hello" });
  model.on("change:_snapshot", load);
  model.on("msg:custom", receive);
  document.addEventListener("visibilitychange", wake);
  const timer = setInterval(() => connection.beat(), model.get("_live") ? LIVE_PING_MS : QUIET_PING_MS);
  connection.send({ k: "hello" });
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", wake);
    model.off("change:_snapshot", load);
    model.off("msg:custom", receive);
    CONNECTIONS.delete(uid);
  };
}

/** For a widget's render(): the connection that initialize() opened. */
export const connectionOf = (model) => CONNECTIONS.get(model.get("_client_uid"));
