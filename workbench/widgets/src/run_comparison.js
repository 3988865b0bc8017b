// RunComparison: runs over one another; the kernel has the records, the view draws them by the axis that is chosen.
import { partColor } from "./lib/color.js";
import { CancelledError } from "./lib/connection.js";
import { button, chip, el, labelled, numberField, segmented, select, table } from "./lib/dom.js";
import { bytes, count, number, seconds } from "./lib/format.js";
import { defineWidget } from "./lib/widget.js";
import { AXES, curves, pareto } from "./comparison/charts.js";
import { png, save } from "./comparison/save.js";
import css from "./run_comparison.css";

const TYPES = { csv: "text/csv", parquet: "application/vnd.apache.parquet", html: "text/html" };
const COSTS = [["elapsed_s", "seconds"], ["bytes", "bytes"], ["step", "steps"], ["epoch", "epochs"]];

function build({ root, connection, width }) {
  let snapshot = null;
  let room = width;
  let chosen = { metric: null, axis: "epoch", cost: "elapsed_s", target: null, rows: null };
  let pictures = [];
  const told = el("p", { class: "cmp-told", role: "status" });
  const say = (words, wrong = false) => { told.textContent = words; told.classList.toggle("fail", wrong); };
  const parts = Object.fromEntries(["head", "verdict", "tools", "charts", "runs", "differences"].map((name) => [name, el("div", { class: `cmp-${name}` })]));
  root.classList.add("cmp");
  root.append(parts.head, parts.verdict, parts.tools, parts.charts, told, parts.runs, parts.differences);

  const metric = () => snapshot.metrics.find(({ name }) => name === chosen.metric) ?? snapshot.metrics[0];
  const target = () => chosen.target ?? snapshot.targets[metric().name];

  async function reach(value) {
    chosen = { ...chosen, target: value };
    try {
      const { rows } = await connection.ask("reached", { metric: metric().name, target: value });
      chosen.rows = rows;
      say("");
    } catch (error) {
      if (error instanceof CancelledError) return;
      say(error.message, true);
    }
    draw();
  }

  async function file(form) {
    try {
      const answer = await connection.ask("file", { form, metric: metric().name });
      save(answer.name, answer.bytes, TYPES[form]);
      say(`${answer.name} was saved by the browser.`);
    } catch (error) {
      if (!(error instanceof CancelledError)) say(error.message, true);
    }
    root.parentElement.dataset.saved = form;
  }

  async function picture() {
    try {
      save("runs.png", await png(pictures, getComputedStyle(document.body).getPropertyValue("--jp-layout-color0") || "#ffffff"), "image/png");
      say("runs.png was saved by the browser.");
      root.parentElement.dataset.saved = "png";
    } catch (error) { say(error.message, true); }
  }

  let drawn = "";
  function controls() {
    const now = JSON.stringify([snapshot.runs.length, snapshot.metrics, metric()?.name, snapshot.metrics.length ? target() : null]);
    if (now === drawn) return;
    drawn = now;
    const focused = parts.tools.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const choose = (more) => { chosen = { ...chosen, ...more }; draw(); };
    parts.head.replaceChildren(el("div", { class: "cmp-title", role: "heading", "aria-level": "2" }, `${snapshot.runs.length} ${snapshot.runs.length === 1 ? "run" : "runs"} compared`),
      el("div", { class: "cmp-export", role: "toolbar", "aria-label": "Save as a file" }, [["csv", "CSV"], ["parquet", "Parquet"], ["html", "HTML"]].map(([form, words]) => button(words, { label: `Save as ${words}`, kind: "quiet", onClick: () => file(form) })), button("PNG", { label: "Save the pictures as PNG", kind: "quiet", onClick: picture })));
    if (!snapshot.metrics.length) { parts.tools.replaceChildren(); return; }
    const value = target();
    parts.tools.replaceChildren(
      labelled("Metric", select("Metric", snapshot.metrics.map(({ name, title }) => [name, title]), metric().name, (name) => choose({ metric: name, target: null, rows: null })), { stacked: true }),
      labelled("Over", segmented("Over", AXES, chosen.axis, (axis) => choose({ axis })), { stacked: true }),
      value === null ? "" : labelled("Time to reach", numberField("Value to reach", Number(value.toPrecision(4)), { min: -1e12, max: 1e12, step: "any", width: "96px", onChange: reach }), { stacked: true, hint: "The first epoch at which a run is at least as good" }),
      labelled("Cost in the plot", select("Cost in the plot", COSTS, chosen.cost, (cost) => choose({ cost })), { stacked: true }));
    if (focused) [...parts.tools.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === focused)?.focus();
  }

  function runsTable() {
    const name = metric().name;
    const rows = chosen.rows ?? snapshot.rows[name];
    const heads = ["", "Run", { text: "Status" }, { text: "Last", num: true }, { text: "Best", num: true, title: metric().title }, { text: "at epoch", num: true }, { text: `Time to ${number(target(), 4)}`, num: true, title: "Seconds of training until the first epoch at which it was reached" },
      { text: "Bytes to it", num: true }, { text: "Time in all", num: true }, { text: "Bytes in all", num: true, title: "Moved by all ranks, modelled bytes left out" }];
    const body = rows.map((row, i) => [el("span", { class: "wb-name" }, chip(partColor(i)), String(i + 1)), el("span", { class: "cmp-run", title: row.summary }, row.run), row.status, number(row.last, 4), number(row.best, 4), row.best_epoch === null ? "–" : count(row.best_epoch),
      row.reached ? seconds(row.reached.elapsed_s) : "never", row.reached ? bytes(row.reached.bytes) : "–", seconds(row.total_s), bytes(row.total_bytes)]);
    parts.runs.className = "cmp-scroll";
    parts.runs.replaceChildren(el("h4", {}, "Runs"), table(heads, body, { label: "Runs" }));
  }

  function differences() {
    parts.differences.className = "cmp-scroll";
    const ids = snapshot.runs.map(({ run }) => run);
    const rows = snapshot.differences.map((row) => [row.setting, ...ids.map((id) => row[id])]);
    parts.differences.replaceChildren(el("h4", {}, "Settings that differ"), rows.length ? table(["Setting", ...ids.map((id, i) => ({ text: el("span", { class: "wb-name" }, chip(partColor(i)), String(i + 1)), title: id }))], rows, { label: "Settings that differ" })
      : el("p", { class: "sec" }, ids.length > 1 ? "All settings are the same." : "There is one run."));
  }

  function draw() {
    if (!snapshot?.runs) return;
    controls();
    differences();
    if (!snapshot.metrics.length) { parts.verdict.textContent = "No run has finished an epoch yet."; parts.charts.replaceChildren(); return; }
    parts.verdict.textContent = snapshot.verdicts[metric().name];
    const wide = room >= 760;
    const first = wide ? Math.floor(((room - 24) * 3) / 5) : room;
    pictures = [curves(snapshot, metric(), chosen.axis, target(), first, say), pareto(snapshot, metric(), chosen.cost, wide ? room - 24 - first : room)];
    parts.charts.replaceChildren(...pictures);
    runsTable();
    Object.assign(root.parentElement.dataset, { metric: metric().name, axis: chosen.axis, runs: snapshot.runs.length });
  }

  return { update(now) { snapshot = now; chosen.rows = null; if (chosen.target !== null && now.metrics?.length) reach(chosen.target); }, draw, resize(now) { room = now; } };
}

export default defineWidget({ css, label: "Comparison of runs", build });
