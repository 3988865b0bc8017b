// Phases per rank, bytes by kind, memory and load.
import { partColor, phaseColor, servedColor } from "../lib/color.js";
import { chip, el, table } from "../lib/dom.js";
import { bytes, number, percent } from "../lib/format.js";

const BETWEEN = "Between steps, each time"; // as workbench/dashboard/panels/phases.py names it
const WIDE_RANKS = 3; // with more ranks there is no room for bars

const bar = (share, color, { hatched = false } = {}) => el("span", { class: "wb-bar db-plain" }, el("i", { class: hatched ? "wb-hatched" : null, style: { width: `${(100 * Math.min(1, share)).toFixed(1)}%`, "--c": color } }));
const phaseChip = (phase) => (phase.startsWith("wait") ? el("i", { class: "wb-chip wb-hatched" }) : chip(phaseColor(phase)));
const named = (mark, name, title) => el("span", { class: "wb-name", title }, mark, name);
const empty = (panel, words) => panel.body.replaceChildren(el("p", { class: "sec" }, words));

export function phases(panel, view, room) {
  if (!view.ranks.length) return empty(panel, "No step finished yet.");
  const bars = view.ranks.length <= (room < 760 && room > 520 ? 2 : WIDE_RANKS);
  const most = Math.max(...view.rows.filter((row) => row.group !== BETWEEN).flatMap((row) => row.ms), 1e-9);
  const heads = [{ text: "Phase" }, ...view.ranks.flatMap(({ rank, part }) => {
    const title = part === null ? `Rank ${rank}` : `Rank ${rank}, part ${part}`;
    const name = named(chip(partColor(rank)), bars ? title : String(rank), title);
    return bars ? [{ text: el("span", { class: "db-rank" }, name) }, { text: "ms", num: true }] : [{ text: name, num: true }];
  })];
  const body = [];
  const total = () => el("tr", { class: "sum" }, el("td", {}, "Step"), view.step_ms.flatMap((ms) => (bars ? [el("td"), el("td", { class: "num" }, number(ms))] : [el("td", { class: "num" }, number(ms))])));
  let group = "";
  for (const row of view.rows) {
    if (row.group === BETWEEN && group !== BETWEEN) body.push(total());
    if (row.group !== group) {
      group = row.group;
      if (group === BETWEEN && !view.rows.some((one) => one.used && one.group === BETWEEN)) break;
      body.push(el("tr", { class: "group" }, el("td", { colspan: heads.length }, group)));
    }
    if (row.used) body.push(el("tr", {}, el("td", {}, named(phaseChip(row.phase), row.name)), row.ms.flatMap((ms) => cells(row, ms, most, bars))));
  }
  panel.body.replaceChildren(table(heads, body, { label: "Milliseconds a step by phase and rank", className: bars ? "" : "db-shaded" }),
    el("p", { class: "db-note" }, `${bars ? "" : "Milliseconds a step. "}Mean of ${view.num_steps === 1 ? "one step" : `the last ${view.num_steps} steps`}. A step is the sum of what happens in it; batches are made meanwhile.${unused(view)}`));
}

const unused = (view) => { const names = view.rows.filter((row) => !row.used && row.group === "In the step").map((row) => row.name); return names.length ? ` No time in: ${names.join(", ")}.` : ""; };

function cells(row, ms, most, bars) {
  const waits = row.phase.startsWith("wait");
  const shade = { "background-color": `color-mix(in srgb, ${waits ? "var(--wb-hatch)" : phaseColor(row.phase)} ${Math.round((60 * ms) / most)}%, transparent)` };
  const value = el("td", { class: ms ? "num" : "num sec", style: bars || row.group === BETWEEN ? null : shade }, number(ms));
  if (!bars) return [value];
  return [el("td", { class: "db-bar-cell db-rank" }, ms && row.group !== BETWEEN ? bar(ms / most, phaseColor(row.phase), { hatched: waits }) : null), value];
}

/** Measured bar with a tick where the formulas predict its end. */
const trafficBar = (row, most) => {
  const node = bar(row.step_bytes / most, row.modelled ? "var(--wb-hatch)" : "var(--wb-ink2)");
  if (row.predicted_bytes !== null) node.append(el("u", { style: { left: `${(100 * Math.min(1, row.predicted_bytes / most)).toFixed(1)}%` } }));
  return node;
};
const ratio = (value) => (value === null ? "" : el("td", { class: Math.abs(value - 1) > 0.1 ? "num warn" : "num" }, value.toFixed(2)));

export function traffic(panel, view) {
  if (!view.rows.length) return empty(panel, "Nothing moved yet.");
  const most = Math.max(...view.rows.flatMap((row) => [row.step_bytes, row.predicted_bytes ?? 0]), 1);
  const beside = view.predicted_bytes !== null;
  const more = (predicted, share) => (beside ? [predicted === null ? "" : bytes(predicted), ratio(share)] : []);
  const body = view.rows.map((row) => [el("span", { title: row.hint }, row.name, row.modelled ? el("span", { class: "sec" }, ", modelled") : null), trafficBar(row, most), bytes(row.step_bytes),
    ...(beside ? [el("td", { class: "num sec", title: row.formula }, row.predicted_bytes === null ? "" : bytes(row.predicted_bytes)), ratio(row.ratio)] : []), bytes(row.total_bytes)]);
  const sum = ["Measured", "", bytes(view.step_bytes), ...more(view.predicted_bytes, view.ratio), bytes(view.total_bytes)];
  body.push(el("tr", { class: "sum" }, sum.map((value, i) => (value instanceof Node ? value : el("td", { class: i > 1 ? "num" : null }, value)))));
  const heads = [{ text: "Kind" }, { text: `0 to ${bytes(most)} a step`, width: beside ? "18%" : "26%" }, { text: beside ? "Measured" : "A step", num: true, title: "All ranks, median of the last 20 steps" },
    ...(beside ? [{ text: "Predicted", num: true, title: "By the formulas of communication; hover a row for its own" }, { text: "Ratio", num: true, title: "Measured over predicted" }] : []), { text: "Since the start", num: true }];
  panel.body.replaceChildren(table(heads, body, { label: "Bytes by kind" }),
    el("p", { class: "db-note" }, `${beside ? "Bar measured, tick predicted; the ratio of the sum is that of the kinds with a prediction. " : ""}All ranks together. What a back end moves inside a collective is modelled and not in the sum.`));
}

export function memory(panel, view) {
  if (!view.rows.length) return empty(panel, "Not measured yet.");
  const tone = (share) => (share > 0.95 ? "fail" : share > 0.8 ? "warn" : "");
  const color = { fail: "var(--wb-failed)", warn: "var(--wb-mark)", "": "var(--wb-ink2)" };
  const most = Math.max(...view.rows.map((row) => row.rss_bytes));
  const limited = view.rows.some((row) => row.limit_bytes !== null);
  const ringed = view.rows.some((row) => row.ring);
  const body = view.rows.map((row) => {
    const share = row.share ?? row.rss_bytes / most;
    const text = row.limit_bytes === null ? bytes(row.rss_bytes) : `${bytes(row.rss_bytes)} of ${bytes(row.limit_bytes)}`;
    return [named(chip(servedColor(row.rank), { outlined: row.role !== "trainer" }), row.name, row.worker), bar(share, color[row.share === null ? "" : tone(share)]),
      el("td", { class: `num ${row.share === null ? "" : tone(share)}`, title: `${row.share === null ? "" : `${percent(share)} of its limit; `}peak ${bytes(row.peak_bytes)}` }, text), `${Math.round(row.cpu_percent).toLocaleString("en")}%`, ...(view.has_gpu ? gpuCells(row.gpu) : []), ...(ringed ? [row.ring || "–"] : [])];
  });
  const heads = [{ text: "Process" }, { text: limited ? "0 to its limit" : `0 to ${bytes(most)}`, width: "20%" }, { text: limited ? "Memory" : "Resident memory", num: true }, { text: "CPU, of a core", num: true, title: "Since the last measurement, a few seconds ago. A process that is busy in the timeline and gets little of a core shares its machine" }, ...(view.has_gpu ? [{ text: "GPU memory", num: true }, { text: "GPU", num: true, title: "Share of the last sampling period in which the device computed" }] : []), ...(ringed ? [{ text: "Batches ready", num: true, title: "Batches that waited when the rank asked, of its slots" }] : [])];
  panel.body.replaceChildren(table(heads, body, { label: "Memory and load of each process" }));
}

const gpuCells = (gpu) => (gpu === null ? ["–", "–"] : [el("td", { class: "num", title: gpu.name }, `${bytes(gpu.used_bytes)} of ${bytes(gpu.limit_bytes)}`), gpu.percent === null ? "–" : `${Math.round(gpu.percent)}%`]);
