// TrainingDashboard: draws the views that workbench/dashboard computes. Each panel is redrawn only when its view changed.
import { el } from "./lib/dom.js";
import { patched } from "./lib/patch.js";
import { defineWidget } from "./lib/widget.js";
import { charts } from "./dashboard/charts.js";
import { gantt } from "./dashboard/gantt.js";
import { header } from "./dashboard/header.js";
import { log } from "./dashboard/log.js";
import { figures, timeline, verdict } from "./dashboard/overview.js";
import { plain, titleOf } from "./dashboard/plain.js";
import { memory, phases, traffic } from "./dashboard/tables.js";
import css from "./dashboard.css";

const FOLD_BELOW = 760;
const ABOVE = new Set(["progress", "verdict"]); // drawn above the panels

/** A panel that folds to its one line. */
function panel(name, title, { span = 6, folds = false } = {}) {
  const line = el("span", { class: "db-line" });
  const heading = el("b", {}, title);
  const body = el("div", { class: "db-panel-body" });
  const node = el("details", { class: `db-panel db-span-${span}`, "data-panel": name, open: true }, el("summary", {}, heading, line), body);
  return { node, body, line, heading, folds };
}

function build({ root, connection, width }) {
  let view = {};
  let run = {};
  let room = width;
  let drawn = new Map();
  const top = header(connection);
  const parts = { timeline: el("div", { class: "db-timeline" }), figures: el("div", { class: "db-figures" }), verdict: el("div", { class: "db-verdict", role: "note" }) };
  const panels = {
    loss: panel("loss", "Training loss", { span: 4 }),
    metrics: panel("metrics", "Validation", { span: 4, folds: true }),
    throughput: panel("throughput", "Throughput", { span: 4, folds: true }),
    gantt: panel("gantt", "Last steps", { span: 12 }),
    phases: panel("phases", "Phases per rank", { folds: true }),
    memory: panel("memory", "Memory and load", { folds: true }),
    traffic: panel("traffic", "Bytes by kind", { folds: true }),
    log: panel("log", "Events", { span: 12, folds: true }),
  };
  const column = (...names) => el("div", { class: "db-column" }, names.map((name) => panels[name].node));
  root.classList.add("db");
  root.append(top.node, parts.timeline, parts.figures, parts.verdict,
    el("div", { class: "db-grid" }, panels.loss.node, panels.metrics.node, panels.throughput.node, panels.gantt.node,
      column("phases"), column("traffic", "memory"), panels.log.node));
  const drawers = [
    [["progress"], () => timeline(parts.timeline, view.progress, room)],
    [["progress", "loss", "metrics", "throughput"], () => figures(parts.figures, view)],
    [["verdict"], () => verdict(parts.verdict, view.verdict)],
    ...charts(panels, () => view, () => room),
    [["gantt", "phases"], () => gantt(panels.gantt, view.gantt, view.phases, room)],
    [["phases"], () => phases(panels.phases, view.phases, room)],
    [["traffic"], () => traffic(panels.traffic, view.traffic)],
    [["memory"], () => memory(panels.memory, view.memory)],
    [["log"], log(panels.log, () => view.log)],
  ];
  const unfolds = (node) => node.addEventListener("toggle", () => { drawn = new Map(); draw(); });
  for (const { node } of Object.values(panels)) unfolds(node);
  let folded = null;

  /** A panel that this file does not know, as one of another package, gets a plain drawing. */
  function admit(name) {
    const made = panel(name, titleOf(name, view[name]), { folds: true });
    panels[name] = made;
    made.node.open = !folded;
    panels.log.node.before(made.node);
    drawers.push([[name], () => plain(made, view[name])]);
    unfolds(made.node);
  }

  function draw() {
    if (!view.progress) return;
    for (const name of Object.keys(view)) if (!panels[name] && !ABOVE.has(name)) admit(name);
    drawers.forEach(([names, work], i) => {
      const now = names.map((name) => view[name]);
      if (drawn.get(i)?.every((value, j) => value === now[j])) return;
      drawn.set(i, now);
      work();
    });
    for (const [name, { line }] of Object.entries(panels)) line.textContent = view[name]?.line ?? "";
    top.update(view.progress, run);
    Object.assign(root.parentElement.dataset, { step: view.progress.step, status: view.progress.status });
  }

  return {
    update(snapshot) { view = snapshot.view ?? {}; run = snapshot.run ?? {}; },
    delta(body) { if (body.change) view = patched(view, body.change); if (body.run) run = body.run; },
    draw,
    resize(now) {
      room = now;
      const fold = now < FOLD_BELOW;
      if (fold !== folded) for (const { node, folds } of Object.values(panels)) if (folds) node.open = !fold;
      folded = fold;
      drawn = new Map();
    },
    state: () => top.update(view.progress, run),
    destroy: top.destroy,
  };
}

export default defineWidget({ css, label: "Training dashboard", build });
