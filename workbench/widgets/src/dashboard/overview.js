// The upper part: epochs with what happened on them, the key figures, and the verdict.
import { line, picture, text } from "../lib/chart.js";
import { el, svg } from "../lib/dom.js";

const TONE = { warn: "var(--wb-mark)", fail: "var(--wb-failed)", done: "var(--wb-done)", "": "var(--wb-running)" };
const MANY_EPOCHS = 40;
const GLYPH = 6; // an average letter of the 11 px labels

export function timeline(host, progress, width) {
  host.replaceChildren(bar(progress, width), restart(progress.restart));
}

/** Epochs as pieces of one bar, "now", and marks for failures. */
function bar(progress, width) {
  const { num_steps: total, step, furthest, num_epochs: epochs, steps_per_epoch: perEpoch } = progress;
  const label = total ? `Step ${step} of ${total}` : "No step yet";
  const node = picture(width, 40, label);
  const X = (at) => (total ? (width * at) / total : 0);
  const pieces = total && epochs <= MANY_EPOCHS ? epochs : 1;
  const gap = pieces > 1 ? 2 : 0;
  for (let i = 0; i < pieces; i += 1) {
    const left = (i * width) / pieces + (i ? gap / 2 : 0);
    const room = width / pieces - (i && i < pieces - 1 ? gap : gap / 2);
    const share = total ? Math.min(1, Math.max(0, (step - (i * total) / pieces) / (total / pieces))) : 0;
    node.append(svg("rect", { x: left, y: 14, width: room, height: 8, rx: 2, style: { fill: "var(--wb-track)" } }));
    if (share) node.append(svg("rect", { x: left, y: 14, width: room * share, height: 8, rx: 2, style: { fill: `var(--wb-${progress.status === "finished" ? "done" : "running"})` } }));
  }
  if (furthest > step) node.append(svg("rect", { x: X(step), y: 14, width: X(furthest) - X(step), height: 8, rx: 2, style: { fill: "none", stroke: "var(--wb-failed)" }, "stroke-dasharray": "3 2" }));
  epochLabels(node, progress, width, pieces);
  const live = !progress.ended_s && total;
  const taken = live ? [[X(step), X(step) + 30]] : [];
  for (const mark of [...progress.marks].reverse()) marked(node, mark, X, width, taken);
  if (live) {
    const end = X(step) > width - 36;
    node.append(line(X(step), 4, X(step), 24, { stroke: "var(--wb-ink)", width: 2 }), text(X(step) + (end ? -6 : 6), 9, "now", { anchor: end ? "end" : "start" }));
  }
  return node;
}

function epochLabels(node, { num_epochs: epochs, epoch }, width, pieces) {
  if (!epochs) return;
  if (pieces === 1) {
    node.append(text(0, 37, !epoch ? `${epochs} ${epochs === 1 ? "epoch" : "epochs"}` : epochs > 1 ? `epoch ${epoch} of ${epochs}` : "epoch 1", { cls: "ink" }));
    return;
  }
  const room = width / pieces;
  const every = Math.ceil(24 / room);
  for (let i = 0; i < pieces; i += 1) if (i % every === 0) node.append(text(i * room + (i ? 1 : 0), 37, room < 64 ? i + 1 : `epoch ${i + 1}`, { cls: i + 1 === epoch ? "ink" : "" }));
}

function marked(node, mark, X, width, taken) {
  const x = X(mark.step);
  node.append(svg("path", { d: `M${x - 4} 3h8l-4 7z`, style: { fill: TONE[mark.tone] } }, svg("title", {}, `${mark.text}, step ${mark.step}`)));
  const length = mark.text.length * GLYPH;
  const right = x + length + 12 < width;
  const span = right ? [x + 8, x + 8 + length] : [x - 8 - length, x - 8];
  const left = [x - 8 - length, x - 8];
  const free = (at) => at[0] >= 0 && taken.every(([a, b]) => at[1] < a || at[0] > b);
  const place = free(span) ? span : free(left) ? left : null;
  if (!place) return;
  taken.push(place);
  node.append(text(place === span && right ? x + 8 : x - 8, 9, mark.text, { anchor: place === span && right ? "start" : "end" }));
}

const MARKS = {
  done: () => svg("path", { d: "M2 6.5 5 9.5 10 3", fill: "none", stroke: "var(--wb-done)", "stroke-width": 1.6 }),
  now: () => svg("circle", { cx: 6, cy: 6, r: 3.5, fill: "none", stroke: "var(--wb-running)", "stroke-width": 2 }),
  todo: () => svg("circle", { cx: 6, cy: 6, r: 3.5, fill: "none", stroke: "var(--wb-line)", "stroke-width": 1.5 }),
};

function restart(steps) {
  if (!steps.length) return "";
  return el("ol", { class: "db-restart", "aria-label": "Progress of the restart" }, steps.map((step) =>
    el("li", { class: step.state === "todo" ? "sec" : "" }, svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, MARKS[step.state]()), step.state === "now" ? el("b", {}, step.text) : step.text)));
}

/** "1 min 29 s" with small units, "0.842" as it is. */
const sized = (value) => (/\d [a-zµ]/.test(value) ? value.split(" ").map((part) => (/^[a-zµ]/.test(part) ? el("span", {}, part) : part)) : value);

export function figures(host, view) {
  const all = [...view.progress.figures, view.loss.figure, view.metrics.figure, view.throughput.figure];
  host.replaceChildren(...all.map((figure) => el("div", { class: "db-figure", title: figure.hint },
    el("div", { class: "db-label" }, figure.label),
    el("div", { class: figure.tone === "muted" ? "db-value muted" : "db-value" }, sized(figure.value), figure.unit && figure.value !== "–" ? el("span", {}, figure.unit) : null),
    el("div", { class: `db-detail ${figure.tone === "muted" ? "" : figure.tone}` }, figure.detail))));
}

export function verdict(host, { tone, heads, what, where, advice, details }) {
  host.style.setProperty("--fc", TONE[tone]);
  const open = host.querySelector("details")?.open ?? true;
  host.replaceChildren(...[what, where, advice].map((words, i) => el("div", {}, el("div", { class: "db-label" }, heads[i]), el("div", {}, i ? words : el("b", {}, words)))),
    ...Object.entries(details).map(([head, words]) => el("details", { class: "db-output", open }, el("summary", {}, head), el("pre", {}, words))));
}
