// The timeline of the last steps: ranks, and under each what serves it.
import { line, picture, text, ticks } from "../lib/chart.js";
import { partColor, phaseColor } from "../lib/color.js";
import { el, svg } from "../lib/dom.js";
import { milliseconds, percent } from "../lib/format.js";
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
  panel.body.replaceChildren(key(view, names), drawing(view, phasesView, names, width, narrow));
}

/** The phases that occur, with their colours; waiting is hatched. */
function key(view, names) {
  const used = new Set(names.flatMap((name) => rows(view.steps[name].spans).filter((row) => row[LENGTH] > 0).map((row) => row[PHASE])));
  const items = view.phases.map((phase, i) => ({ ...phase, i })).filter(({ i, idle }) => used.has(i) && !idle);
  const chips = items.map(({ phase, name }) => el("span", {}, el("i", { class: "wb-chip", style: { "--c": phaseColor(phase) } }), name));
  if (view.phases.some(({ idle }, i) => idle && used.has(i))) chips.push(el("span", {}, el("i", { class: "wb-chip wb-hatched" }), "wait"));
  if (view.lanes.some(({ kind }) => kind !== "rank")) chips.push(el("span", {}, el("i", { class: "db-handed" }), "batch handed over"));
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

function drawing(view, phasesView, names, width, narrow) {
  const places = layout(view.lanes);
  const base = places.at(-1).top + places.at(-1).height + 6;
  const [left, right] = narrow ? [96, 2] : [112, 84];
  const steps = names.map((name) => ({ name, ...view.steps[name], rows: rows(view.steps[name].spans) }));
  const end = view.start_s + view.length_s;
  const start = Math.min(end - 1e-6, steps[0].from);
  const X = (time) => left + ((width - left - right) * (time - start)) / (end - start);
  const node = picture(width, base + 22, "Timeline of the phases of each rank and its sampler");
  const hatch = `wb-hatch-${++patterns}`;
  node.append(hatchPattern(hatch), ...axis(X, start, end, base, width, left, right, view.outdated));
  for (const { name, from } of steps) node.append(line(X(Math.max(from, start)), 4, X(Math.max(from, start)), base, { stroke: "var(--wb-line)" }), text(X(Math.max(from, start)) + 4, 11, `step ${name.toLocaleString("en")}`));
  view.lanes.forEach((lane, i) => node.append(...laneName(lane, places[i], phasesView)));
  for (const step of steps) for (const row of step.rows) drawSpan(node, view, step, row, { X, places, start, end, hatch });
  view.lanes.forEach((lane, i) => node.append(...laneEnd(view, lane, i, steps, places[i], { X, end, narrow, width, right })));
  for (const mark of handovers(view, steps, places, X, start)) node.append(mark);
  return node;
}

const hatchPattern = (id) => svg("defs", {}, svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 5, height: 5, style: { fill: "var(--wb-wait)" } }), svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, style: { stroke: "var(--wb-hatch)" }, "stroke-width": 1.6 })));

function axis(X, start, end, base, width, left, right, before) {
  const marks = ticks(start - end, 0, Math.max(2, Math.min(8, Math.floor((width - left - right) / 90))));
  const short = end - start < 1;
  const label = (t) => (t === 0 ? (before ? "stop" : "now") : `−${short ? `${Math.round(-t * 1000)} ms` : `${Number((-t).toPrecision(3))} s`}`);
  const shown = marks.filter((t) => X(end + t) > left + 28 || t === 0);
  return [
    ...marks.map((t) => line(X(end + t), 16, X(end + t), base)),
    ...shown.map((t) => text(X(end + t), base + 16, label(t), { anchor: t === 0 && right < 20 ? "end" : "middle" })),
    text(0, base + 16, before ? "before the stop" : "time before now"),
    line(left, base, width - right, base, { stroke: "var(--wb-line)" }),
  ];
}

function laneName({ kind, rank, name }, { top, height }) {
  const color = rank >= 0 ? partColor(rank) : "var(--wb-ink2)";
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
  if (lane.kind !== "rank" && until < end - 1e-3) out.push(svg("g", {}, svg("line", { x1: X(until) + 2, x2: X(end), y1: middle, y2: middle, stroke: "var(--wb-hatch)", "stroke-dasharray": "1 4" }), svg("title", {}, "Told when the batch is used")));
  const lost = lane.kind === "rank" && view.failed[lane.index] !== undefined;
  if (lost) out.push(svg("line", { x1: X(until), x2: X(until), y1: top - 4, y2: top + height + 2, stroke: "var(--wb-failed)", "stroke-width": 2 }), text(X(until) + (X(until) > width - right - 90 ? -8 : 8), middle + 4, `rank ${lane.index} lost`, { anchor: X(until) > width - right - 90 ? "end" : "start", fill: "var(--wb-failed)" }));
  const standing = view.outdated && lane.kind === "rank";
  if (!narrow && standing) out.push(text(width - right + 12, middle + 4, lost ? "lost" : "stopped", { cls: "ink", fill: lost ? "var(--wb-failed)" : null }));
  else if (!narrow && lane.busy !== null) out.push(text(width - right + 12, middle + 4, `${percent(lane.busy)} busy`, { cls: lane.kind === "rank" ? "ink" : "", fill: lane.kind !== "rank" && lane.busy > 0.95 ? "var(--wb-paused)" : null }));
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
