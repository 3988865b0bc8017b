// The timeline of the last steps: ranks, and under each what serves it.
import { line, picture, text, ticks } from "../lib/chart.js";
import { phaseColor, servedColor } from "../lib/color.js";
import { el, svg } from "../lib/dom.js";
import { milliseconds, percent, seconds } from "../lib/format.js";
import { rows } from "../lib/patch.js";

const LANE = 0;
const PHASE = 1;
const START = 2;
const LENGTH = 3;
const RANK = 4;
const NARROW = 620;
let patterns = 0;

export function gantt(panel, view, phasesView, room) {
  if (!panel.node.open) return;
  const narrow = room < NARROW;
  const names = Object.keys(view.steps).map(Number).sort((a, b) => a - b).slice(narrow ? -3 : 0);
  panel.heading.textContent = !names.length ? "Last steps" : view.outdated ? "Last steps before the failure" : names.length === 1 ? "Last step" : `Last ${names.length} steps`;
  if (!names.length) { panel.body.replaceChildren(el("p", { class: "sec" }, "No step finished yet.")); return; }
  const width = Math.floor(panel.body.getBoundingClientRect().width) || room;
  const scene = sceneOf(view, names, width, narrow);
  panel.body.replaceChildren(key(view, names, scene), drawing(view, phasesView, scene, width, narrow));
}

/** The phases that occur, with their colours; waiting is hatched. */
function key(view, names, scene) {
  const used = new Set(names.flatMap((name) => rows(view.steps[name].spans).filter((row) => row[LENGTH] > 0).map((row) => row[PHASE])));
  for (const { phase } of scene.before) used.add(view.phases.findIndex((one) => one.phase === phase));
  const items = view.phases.map((phase, i) => ({ ...phase, i })).filter(({ i, idle }) => used.has(i) && !idle);
  const chips = items.map(({ phase, name }) => el("span", {}, el("i", { class: "wb-chip", style: { "--c": phaseColor(phase) } }), name));
  if (view.phases.some(({ idle }, i) => idle && used.has(i))) chips.push(el("span", {}, el("i", { class: "wb-chip wb-hatched" }), "wait"));
  if (view.lanes.some(({ kind }) => kind !== "rank")) chips.push(el("span", {}, el("i", { class: "db-handed" }), "batch handed over"), el("span", {}, el("i", { class: "db-untold" }), "told when its batch is used"));
  if (scene.cuts.length || scene.lead) chips.push(el("span", {}, el("i", { class: "db-cut" }), "shortened"));
  return el("div", { class: "db-key", "aria-label": "Phases" }, chips);
}

function layout(lanes) {
  const dense = lanes.length > 16;
  let top = 18;
  return lanes.map(({ kind }, i) => {
    const height = kind === "rank" ? (dense ? 14 : 24) : dense ? 8 : 16;
    if (i && kind === "rank") top += dense ? 4 : 10;
    const place = { top, height };
    top += height + 2;
    return place;
  });
}

const BETWEEN = new Set(["evaluate", "checkpoint"]);
const spanText = ({ name, seconds: valueS }) => `${name} ${seconds(valueS)}`;

/** What is drawn where: steps, and what lies between or before them, which is shortened where it would crowd them. */
function sceneOf(view, names, width, narrow) {
  const [left, right] = narrow ? [96, 2] : [112, 84];
  const steps = names.map((name) => ({ name, ...view.steps[name], rows: rows(view.steps[name].spans) }));
  const end = view.start_s + view.length_s;
  const start = Math.min(end - 1e-6, steps[0].from);
  const before = [...steps[0].rows.map((row) => ({ row, ...view.phases[row[PHASE]] })).filter(({ phase }) => BETWEEN.has(phase))
    .reduce((all, { row, phase, name }) => all.set(phase, { phase, name, seconds: Math.max(row[LENGTH], all.get(phase)?.seconds ?? 0), step: steps[0].name }), new Map()).values()];
  const shown = (before.length ? before : view.before).filter((one) => one.seconds > (end - start) / 50);
  const lead = shown.length ? (narrow ? 48 : 104) : 0;
  const cuts = cutsOf(view, steps, start, end);
  const cutRoom = narrow ? 40 : 96;
  const perS = (width - left - right - lead - cuts.length * cutRoom) / (end - start - cuts.reduce((sum, { from, to }) => sum + to - from, 0));
  const X = (time) => cuts.reduce((x, { from, to }) => {
    const inside = Math.max(0, Math.min(time, to) - from);
    return x - inside * perS + (inside / (to - from)) * cutRoom;
  }, left + lead + (time - start) * perS);
  return { left, right, steps, start, end, X, cuts, before: shown, lead };
}

/** Evaluation and checkpoints between the shown steps that would take more room than two steps. */
function cutsOf(view, steps, start, end) {
  const found = steps.slice(1).flatMap((step) => {
    const own = step.rows.filter((row) => BETWEEN.has(view.phases[row[PHASE]].phase));
    if (!own.length) return [];
    const longest = own.reduce((a, b) => (b[LENGTH] > a[LENGTH] ? b : a));
    return [{ from: Math.min(...own.map((row) => step.t + row[START])), to: Math.max(...own.map((row) => step.t + row[START] + row[LENGTH])), name: view.phases[longest[PHASE]].name, seconds: longest[LENGTH] }];
  });
  const worked = end - start - found.reduce((sum, { from, to }) => sum + to - from, 0);
  return found.filter(({ from, to }) => to - from > (2 * worked) / steps.length);
}

/** What happened before the first shown step, not to scale: its phase, how long it took, and when. */
function leading(node, view, { before, left, lead, steps }, places, base) {
  if (!lead) return;
  const room = lead - 12;
  const longest = before.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  const words = `${before.map(spanText).join(", ")}, before step ${longest.step.toLocaleString("en")}; not to scale`;
  node.append(text(left, 11, lead > 60 ? spanText(longest) : seconds(longest.seconds), { title: words }));
  for (const [i, { top, height }] of places.entries()) if (view.lanes[i].kind === "rank") node.append(svg("rect", { x: left, y: top, width: room, height, style: { fill: phaseColor(longest.phase) } }, svg("title", {}, words)), ...broken(left + room / 2, top, height));
  const gap = longest.step === steps[0].name ? "" : "⋯";
  node.append(line(left + room + 5, 16, left + room + 5, base, { stroke: "var(--wb-ink2)", dash: "2 3" }), text(left + room + 5, base + 16, gap, { anchor: "middle" }));
}

/** Two strokes through a piece that is shorter than its time. */
const broken = (x, top, height) => [-3, 3].map((by) => svg("line", { x1: x + by - 3, x2: x + by + 3, y1: top + height, y2: top, stroke: "var(--wb-bg)", "stroke-width": 2 }));

function drawing(view, phasesView, scene, width, narrow) {
  const places = layout(view.lanes);
  const base = places.at(-1).top + places.at(-1).height + 6;
  const { left, right, steps, start, end, X } = scene;
  const node = picture(width, base + 22, "Timeline of the phases of each rank and its sampler");
  const hatch = `wb-hatch-${++patterns}`;
  node.append(hatchPattern(hatch), ...axis(scene, base, width, view.outdated));
  for (const { name, from } of steps) node.append(line(X(Math.max(from, start)), 4, X(Math.max(from, start)), base, { stroke: "var(--wb-line)" }), text(X(Math.max(from, start)) + 4, 11, `step ${name.toLocaleString("en")}`));
  if (!narrow) node.append(text(width - right + 12, 11, "of this time"));
  leading(node, view, scene, places, base);
  view.lanes.forEach((lane, i) => node.append(...laneName(lane, places[i], phasesView)));
  for (const step of steps) for (const row of step.rows) drawSpan(node, view, step, row, { X, places, start, end, hatch });
  view.lanes.forEach((lane, i) => node.append(...laneEnd(view, lane, i, steps, places[i], { X, end, narrow, width, right })));
  for (const cut of scene.cuts) node.append(...shortened(view, cut, X, places, narrow));
  for (const mark of handovers(view, steps, places, X, start)) node.append(mark);
  return node;
}

/** The name and time of a shortened piece, and its strokes. */
function shortened(view, cut, X, places, narrow) {
  const middle = (X(cut.from) + X(cut.to)) / 2;
  const strokes = places.flatMap(({ top, height }, i) => (view.lanes[i].kind === "rank" ? broken(middle, top, height) : []));
  return [...strokes, text(X(cut.from) + 4, 11, narrow ? seconds(cut.seconds) : spanText(cut))];
}

const hatchPattern = (id) => svg("defs", {}, svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 5, height: 5, style: { fill: "var(--wb-wait)" } }), svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, style: { stroke: "var(--wb-hatch)" }, "stroke-width": 1.6 })));

function axis({ X, start, end, left, lead, right, cuts }, base, width, before) {
  const stretch = (end - start) / (end - start - cuts.reduce((sum, { from, to }) => sum + to - from, 0)); // ticks for what is to scale
  const inCut = (t) => cuts.some(({ from, to }) => end + t > from && end + t < to);
  const marks = ticks(start - end, 0, Math.max(2, Math.min(8, Math.floor((width - left - right) / 90))) * stretch).filter((t) => !inCut(t));
  const short = end - start < 1;
  const label = (t) => (t === 0 ? (before ? "stop" : "now") : `−${short ? `${Math.round(-t * 1000)} ms` : `${Number((-t).toPrecision(3))} s`}`);
  const shown = [...marks].reverse().reduce((kept, t) => (t === 0 || (X(end + t) > left + lead + 28 && kept.at(-1) - X(end + t) > 44) ? [...kept, X(end + t)] : kept), []);
  return [
    ...marks.map((t) => line(X(end + t), 16, X(end + t), base)),
    ...marks.filter((t) => shown.includes(X(end + t))).map((t) => text(X(end + t), base + 16, label(t), { anchor: t === 0 && right < 20 ? "end" : "middle" })),
    text(0, base + 16, before ? "before the stop" : "time before now"),
    line(left, base, width - right, base, { stroke: "var(--wb-line)" }),
  ];
}

function laneName({ kind, rank, name }, { top, height }) {
  const color = servedColor(rank);
  const box = kind === "rank"
    ? svg("rect", { x: 0, y: top + height / 2 - 5, width: 10, height: 10, rx: 2, style: { fill: color } })
    : svg("rect", { x: 1, y: top + height / 2 - 4, width: 8, height: 8, rx: 1.5, style: { fill: "none", stroke: color }, "stroke-width": 2 });
  return [box, text(18, top + height / 2 + 4, kind === "thread" ? "its thread" : name, { cls: kind === "rank" ? "ink" : "" })];
}

function drawSpan(node, view, step, row, { X, places, start, end, hatch }) {
  const from = Math.max(step.t + row[START], start);
  const to = Math.min(step.t + row[START] + row[LENGTH], end);
  if (to <= from) return;
  const lane = view.lanes[row[LANE]];
  const { phase, name, idle } = view.phases[row[PHASE]];
  const { top, height } = places[row[LANE]];
  const room = Math.max(0.8, X(to) - X(from) - 0.8);
  const of = lane.kind === "rank" ? "" : ` for rank ${row[RANK]}`;
  node.append(svg("rect", { x: X(from).toFixed(1), y: top, width: room.toFixed(1), height, style: { fill: idle ? `url(#${hatch})` : phaseColor(phase) } },
    svg("title", {}, `${lane.name}, step ${step.name}${of}: ${name}, ${milliseconds(row[LENGTH])} ms`)));
}

/** What stands at the right end of a lane: its busy share, a lost rank, and for samplers where their telling ends. */
function laneEnd(view, lane, index, steps, { top, height }, { X, end, narrow, width, right }) {
  const middle = top + height / 2;
  const own = steps.flatMap((step) => step.rows.filter((row) => row[LANE] === index).map((row) => step.t + row[START] + row[LENGTH]));
  const until = own.length ? Math.max(...own) : steps[0].from;
  const out = [];
  if (lane.kind !== "rank" && until < end - 1e-3) out.push(svg("g", {}, svg("line", { x1: X(until) + 2, x2: X(end), y1: middle, y2: middle, stroke: "var(--wb-hatch)", "stroke-dasharray": "1 4" }), svg("title", {}, "A sampler's work is told when its batch is used, so its lane ends before now")));
  const lost = lane.kind === "rank" && view.failed[lane.index] !== undefined;
  if (lost) out.push(svg("line", { x1: X(until), x2: X(until), y1: top - 4, y2: top + height + 2, stroke: "var(--wb-failed)", "stroke-width": 2 }), text(X(until) + (X(until) > width - right - 90 ? -8 : 8), middle + 4, `rank ${lane.index} lost`, { anchor: X(until) > width - right - 90 ? "end" : "start", fill: "var(--wb-failed)" }));
  const standing = view.outdated && lane.kind === "rank";
  if (!narrow && standing) out.push(text(width - right + 12, middle + 4, lost ? "lost" : "stopped", { cls: "ink", fill: lost ? "var(--wb-failed)" : null }));
  else if (!narrow && lane.busy !== null) out.push(text(width - right + 12, middle + 4, `${percent(lane.busy)} busy`, { title: "Share of the time from its first to its last span here in which it did not wait; a process that computes may still get less than a core", cls: lane.kind === "rank" ? "ink" : "", fill: lane.kind !== "rank" && lane.busy > 0.95 ? "var(--wb-paused)" : null }));
  return out;
}

/** A stroke where a rank took its batch, through its lane and that of its own sampler. */
function handovers(view, steps, places, X, start) {
  const batch = view.phases.findIndex(({ phase }) => phase === "wait_for_batch");
  const out = [];
  view.lanes.forEach((lane, i) => {
    const below = view.lanes[i + 1];
    if (lane.kind !== "rank" || !below || below.kind === "rank" || below.rank !== lane.index) return;
    for (const step of steps) {
      const taken = step.rows.find((row) => row[LANE] === i && row[PHASE] === batch);
      if (!taken) continue;
      const time = step.t + taken[START] + taken[LENGTH];
      if (time >= start) out.push(svg("line", { x1: X(time), x2: X(time), y1: places[i].top, y2: places[i + 1].top + places[i + 1].height, stroke: "var(--wb-ink)", "stroke-width": 1 }));
    }
  });
  return out;
}
