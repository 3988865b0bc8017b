// What happened, newest first, with a filter.
import { el, select, table } from "../lib/dom.js";
import { clock } from "../lib/format.js";

const COLORS = { info: "var(--wb-ink2)", saved: "var(--wb-done)", warning: "var(--wb-mark)", failure: "var(--wb-failed)", restart: "var(--wb-running)" };
const LATEST = 6;

/** Returns the drawer of the log; its filter outlives a redraw. */
export function log(panel, viewOf) {
  let filter = "latest";
  const rowsNode = el("div", { class: "db-log" });
  const filterNode = el("label", { class: "db-filter" }, "Show ");
  const redraw = () => {
    const view = viewOf();
    const all = Object.keys(view.entries).map(Number).sort((a, b) => b - a).map((key) => view.entries[key]);
    const serious = all.filter(({ level }) => ["warning", "failure", "restart"].includes(level));
    const shown = filter === "latest" ? all.slice(0, LATEST) : filter === "serious" ? serious : all;
    const options = [["latest", `latest ${Math.min(LATEST, all.length)} of ${view.num_entries}`], ["serious", `warnings, failures, restarts (${serious.length})`], ["all", all.length < view.num_entries ? `the ${all.length} kept of ${view.num_entries}` : `all ${all.length}`]];
    const chosen = select("Show events", options, filter, (value) => { filter = value; redraw(); });
    if (!filterNode.contains(document.activeElement)) filterNode.replaceChildren("Show ", chosen);
    rowsNode.replaceChildren(shown.length ? table(["Time", { text: "Step", num: true }, "Level", "Where", "What"], shown.map(row), { label: "Events, newest first" }) : el("p", { class: "sec" }, "Nothing of that kind."));
  };
  panel.body.replaceChildren(filterNode, rowsNode);
  return redraw;
}

const row = ({ time_s: time, step, level, where, text }) => [clock(time), step.toLocaleString("en"),
  el("span", { class: "wb-name" }, el("i", { class: "db-level", style: { "--c": COLORS[level] } }), level), where, text];
