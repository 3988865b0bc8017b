// ClusterPanel: the workers of a session, what each hosts and does; a restart asks in place.
import { servedColor } from "./lib/color.js";
import { button, chip, el, labelled, numberField, table } from "./lib/dom.js";
import { bytes } from "./lib/format.js";
import { defineWidget } from "./lib/widget.js";
import css from "./cluster_panel.css";

function build({ root, connection }) {
  let state = null;
  let asking = null; // the worker whose restart is asked about
  let wanted = null;
  const title = el("div", { class: "cl-title", role: "heading", "aria-level": "2" });
  const summary = el("p", { class: "sec" });
  const scale = el("div", { class: "cl-scale", role: "group", "aria-label": "Scale the cluster" });
  const told = el("p", { class: "cl-told", role: "status" });
  const rows = el("div", { class: "cl-table" });
  root.append(el("div", { class: "cl-head" }, el("div", {}, title, summary), scale), told, rows);
  const say = (words, wrong = false) => { told.textContent = words; told.classList.toggle("fail", wrong); };

  function command(name, args, words) {
    say(words);
    connection.command(name, args).then(() => say(""), (error) => say(error.message, true));
  }

  const count = (role) => state.workers.filter(({ roles }) => roles.includes(role)).length;

  function scaling() {
    const now = `${state.local} ${count("trainer")} ${count("sampler")}`;
    if (now === wanted || scale.contains(document.activeElement)) return;
    wanted = now;
    if (!state.local) { scale.replaceChildren(el("span", { class: "sec" }, "It grows where it was started.")); return; }
    const fields = ["trainer", "sampler"].map((role) => numberField(`${role}s`, count(role), { min: count(role), max: 256, width: "64px" }));
    scale.replaceChildren(labelled("Trainers", fields[0], { stacked: true, hint: "It grows, and never shrinks while it lives" }), labelled("Samplers", fields[1], { stacked: true }),
      button("Scale", { label: "Let the cluster grow", onClick: () => command("scale", { trainers: Number(fields[0].value), samplers: Number(fields[1].value) }, "More workers are being started.") }));
  }

  function restart(worker) {
    if (asking !== worker.name) return button("Restart…", { label: `Restart ${worker.name}, asks first`, kind: "quiet", onClick: () => { asking = worker.name; draw(); rows.querySelector(".cl-ask button")?.focus(); } });
    const hosts = worker.duties.some(({ kind }) => kind === "rank");
    const close = () => { asking = null; draw(); };
    const node = el("span", { class: "cl-ask", role: "alertdialog", "aria-label": `Restart ${worker.name}?` }, hosts ? "Its run goes back to the last checkpoint." : "Its work is given to others.",
      button("Restart", { label: `Restart ${worker.name} now`, kind: "danger", onClick: () => { close(); command("restart", { worker: worker.name }, `${worker.name} is being restarted.`); } }), button("Keep", { onClick: close }));
    node.addEventListener("keydown", (event) => event.key === "Escape" && close());
    return node;
  }

  const hosted = (duties, make, kind = "") => (duties.length ? el("td", { class: kind }, duties.map((duty) => el("div", {}, make(duty)))) : el("td", { class: `sec ${kind}` }, "–"));
  const name = ({ kind, index, part, run }) => el("span", { class: "wb-name", title: run }, chip(servedColor(kind === "rank" ? index : -1), { outlined: kind !== "rank" }), `${kind === "rank" ? "Rank" : "Sampler"} ${index}${part === null ? "" : `, part ${part}`}`);

  function draw() {
    if (!state) return;
    title.textContent = state.gone ? "Cluster, gone" : `${state.workers.length} ${state.workers.length === 1 ? "worker" : "workers"}`;
    summary.textContent = state.gone || `${state.address}; ${state.runs.length ? state.runs.map(({ id, status }) => `${id}, ${status}`).join("; ") : "no run at work"}`;
    scaling();
    const heads = ["Worker", "Roles", "Hosts", "Did last", { text: "Its memory", num: true, title: "Of the rank or sampler, where it has told" }, { text: "Worker's memory", num: true }, { text: "CPU", num: true, title: "Of the worker process, percent of a core" }, ""];
    rows.replaceChildren(table(heads, state.workers.map((worker) => [el("span", { title: `${worker.address}, ${worker.host}` }, worker.name), worker.roles.join(", "), hosted(worker.duties, name), hosted(worker.duties, ({ does }) => does),
      hosted(worker.duties, ({ rss_bytes: rss }) => bytes(rss), "num"), worker.limit_bytes ? `${bytes(worker.memory_bytes)} of ${bytes(worker.limit_bytes)}` : bytes(worker.memory_bytes), `${Math.round(worker.cpu_percent)}%`, restart(worker)]), { label: "Workers" }));
    Object.assign(root.parentElement.dataset, { workers: state.workers.length, gone: String(Boolean(state.gone)) });
  }

  return { update(snapshot) { state = snapshot.state ?? null; }, delta(body) { state = body.state; }, draw };
}

export default defineWidget({ css, label: "Cluster", build });
