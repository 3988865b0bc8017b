// TrainingDashboard: draws the views that workbench/dashboard computes. Each panel is redrawn only when its view changed.
import { el } from "./lib/dom.js";
import { patched } from "./lib/patch.js";
import { defineWidget } from "./lib/widget.js";
import { isShown, orderOf, panelMenu, place } from "./dashboard/arrange.js";
import { charts } from "./dashboard/charts.js";
import { gantt } from "./dashboard/gantt.js";
import { header } from "./dashboard/header.js";
import { log } from "./dashboard/log.js";
import { figures, timeline, verdict } from "./dashboard/overview.js";
import { plain, titleOf } from "./dashboard/plain.js";
import { player } from "./dashboard/player.js";
import { cache, staleness, stragglers } from "./dashboard/rows.js";
import { memory, phases, traffic } from "./dashboard/tables.js";
import css from "./dashboard.css";

const FOLD_BELOW = 760;
const ABOVE = new Set(["progress", "verdict"]); // drawn above the panels

/** A panel that folds to its one line. */
function panel(name, title, { span = 6, folds = true } = {}) {
  const line = el("span", { class: "db-line" });
  const heading = el("b", {}, title);
  const body = el("div", { class: "db-panel-body" });
  const node = el("details", { class: `db-panel db-span-${span}`, "data-panel": name, open: true }, el("summary", {}, heading, line), body);
  return { node, body, line, heading, folds, span, title };
}

const usualPanels = () => ({
  loss: panel("loss", "Training loss", { span: 4, folds: false }),
  metrics: panel("metrics", "Validation", { span: 4 }),
  throughput: panel("throughput", "Throughput", { span: 4 }),
  gantt: panel("gantt", "Last steps", { span: 12, folds: false }),
  phases: panel("phases", "Phases per rank"),
  traffic: panel("traffic", "Bytes by kind"),
  cache: panel("cache", "Cache"),
  staleness: panel("staleness", "Staleness"),
  stragglers: panel("stragglers", "Stragglers"),
  memory: panel("memory", "Memory and load"),
  log: panel("log", "Events", { span: 12 }),
});

function build({ root, connection, width }) {
  let view = {};
  let run = {};
  let layout = {};
  let room = width;
  let drawn = new Map();
  let placed = "";
  let folded = null;
  const arrange = (chosen) => { layout = chosen; connection.command("arrange", { layout: chosen }).catch((error) => top.say(error.message, true)); draw(); };
  const menu = panelMenu(arrange);
  const film = player(connection);
  const top = header(connection, menu.opener);
  const parts = { timeline: el("div", { class: "db-timeline" }), figures: el("div", { class: "db-figures" }), verdict: el("div", { class: "db-verdict", role: "note" }) };
  const panels = usualPanels();
  const grid = el("div", { class: "db-grid" });
  root.classList.add("db");
  root.append(top.node, menu.node, film.node, parts.timeline, parts.figures, parts.verdict, grid);
  const drawers = [
    [["progress"], () => timeline(parts.timeline, view.progress, room)],
    [["progress", "loss", "metrics", "throughput"], () => figures(parts.figures, view)],
    [["verdict"], () => verdict(parts.verdict, view.verdict)],
    ...charts(panels, () => view, () => room),
    [["gantt", "phases"], () => gantt(panels.gantt, view.gantt, view.phases, room)],
    [["phases"], () => phases(panels.phases, view.phases, room)],
    [["traffic"], () => traffic(panels.traffic, view.traffic)],
    [["cache", "progress"], () => cache(panels.cache, view.cache, view.progress, room)],
    [["staleness"], () => staleness(panels.staleness, view.staleness, room)],
    [["stragglers"], () => stragglers(panels.stragglers, view.stragglers)],
    [["memory"], () => memory(panels.memory, view.memory)],
    [["log"], log(panels.log, () => view.log)],
  ];
  const unfolds = (node) => node.addEventListener("toggle", () => { drawn = new Map(); draw(); });
  for (const { node } of Object.values(panels)) unfolds(node);

  /** A panel that this file does not know, as one of another package, gets a plain drawing. */
  function admit(name) {
    const made = panel(name, titleOf(name, view[name]));
    panels[name] = made;
    made.node.open = !folded;
    drawers.push([[name], () => plain(made, view[name])]);
    unfolds(made.node);
  }

  /** Put the panels where they belong; what is drawn depends on the width of its place. */
  function arranged() {
    const names = orderOf(layout, Object.keys(panels).filter((name) => view[name]));
    const shown = Object.fromEntries(names.map((name) => [name, isShown(layout, name, view[name])]));
    menu.update(names, Object.fromEntries(names.map((name) => [name, panels[name].title])), shown, layout);
    const now = names.filter((name) => shown[name]);
    const signature = `${room < FOLD_BELOW} ${now.join(" ")}`;
    if (signature === placed) return;
    placed = signature;
    place(grid, panels, now, room < FOLD_BELOW);
    drawn = new Map();
    root.parentElement.dataset.panels = now.join(" ");
  }

  function draw() {
    if (!view.progress) return;
    for (const name of Object.keys(view)) if (!panels[name] && !ABOVE.has(name)) admit(name);
    arranged();
    drawers.forEach(([names, work], i) => {
      const now = names.map((name) => view[name]);
      if (now.some((value) => value === undefined) || drawn.get(i)?.every((value, j) => value === now[j])) return;
      drawn.set(i, now);
      work();
    });
    for (const [name, { line }] of Object.entries(panels)) line.textContent = view[name]?.line ?? "";
    top.update(view.progress, run);
    film.update(run.player, view.progress);
    Object.assign(root.parentElement.dataset, { step: view.progress.step, status: view.progress.status });
  }

  return {
    update(snapshot) { view = snapshot.view ?? {}; run = snapshot.run ?? {}; layout = snapshot.layout ?? {}; },
    delta(body) {
      if (body.change) view = patched(view, body.change);
      if (body.run) run = body.run;
      if (body.layout) layout = body.layout;
    },
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
