// The header: name, status and its age, what runs, and the controls. Stop asks in place.
import { button, el } from "../lib/dom.js";

const WORDS = { pending: "Waiting", starting: "Starting", running: "Running", paused: "Paused", restarting: "Restarting", finished: "Finished", stopped: "Stopped", failed: "Failed" };
const TONES = { running: "running", starting: "running", pending: "paused", paused: "paused", restarting: "failed", finished: "done", stopped: "paused", failed: "failed" };
const ENDED = new Set(["finished", "stopped", "failed"]);
const SILENT_S = 10; // a running run tells something more often than that, unless a step is long

const age = (seconds) => (seconds < 1.95 ? `${Math.max(0, seconds).toFixed(1)} s` : seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

export function header(connection, opener) {
  const name = el("span", { class: "db-name" });
  const dot = el("i");
  const word = el("span", { class: "db-word" });
  const beat = el("span", { class: "db-beat" });
  const summary = el("p", { class: "db-summary" });
  const answer = el("p", { class: "db-answer", role: "status", hidden: true });
  let asked = null; // the command that waits for the run
  let heard = { timeS: null, atMs: 0 };
  let progress = null;
  let run = {};

  const command = (kind, force = false) => {
    asked = kind;
    say(`${{ pause: "Pause", resume: "Resume", checkpoint: "Checkpoint", stop: "Stop" }[kind]} asked for; it happens between two steps.`);
    connection.command("control", { kind, force }).catch((error) => { asked = null; say(error.message, true); });
    show();
  };
  const say = (text, wrong = false) => { answer.textContent = text; answer.hidden = !text; answer.classList.toggle("fail", wrong); };

  const pause = button("Pause", { label: "Pause the run after this step", onClick: () => command(progress?.status === "paused" ? "resume" : "pause") });
  const save = button("Checkpoint", { label: "Save a checkpoint after this step", onClick: () => command("checkpoint") });
  const stop = button("Stop…", { label: "Stop the run, asks first", kind: "danger", onClick: () => openAsk(true) });
  const question = el("span");
  const ask = el("div", { class: "db-ask", role: "alertdialog", "aria-label": "Stop the run?", hidden: true }, question,
    el("div", {},
      button("Save and stop", { kind: "danger primary", onClick: () => { openAsk(false); command("stop"); } }),
      button("Stop without saving", { onClick: () => { openAsk(false); command("stop", true); } }),
      button("Keep running", { onClick: () => openAsk(false) })));
  ask.addEventListener("keydown", (event) => event.key === "Escape" && openAsk(false));

  function openAsk(open) {
    ask.hidden = !open;
    if (open) {
      const saved = progress?.checkpoint_step;
      question.textContent = `Stop at step ${(progress?.step ?? 0).toLocaleString("en")}? ${saved === null || saved === undefined ? "There is no checkpoint yet." : `The last checkpoint is step ${saved.toLocaleString("en")}.`}`;
      ask.querySelector("button").focus();
    } else stop.focus();
  }

  function show() {
    if (!progress) return;
    const past = run.player && run.player.mode !== "live"; // a moment of the past: nothing is awaited
    const lost = !past && run.status === "failed" && !ENDED.has(progress.status); // its scheduler is gone: nobody told an end
    const status = lost ? "failed" : progress.status;
    const ended = ENDED.has(status);
    const fresh = connection.state === "running";
    const tone = fresh ? TONES[status] : "paused";
    name.textContent = run.name ?? "";
    dot.className = fresh && !ended && !past && status !== "paused" ? "wb-live" : "";
    word.parentElement.style.setProperty("--st", `var(--wb-${tone})`);
    word.textContent = WORDS[status] + (fresh ? "" : connection.state === "stale" ? ", view stale" : ", no kernel");
    summary.textContent = progress.summary;
    const silent = Math.max(0, (performance.now() - heard.atMs) / 1000);
    const quiet = silent > SILENT_S && !past;
    const told = quiet ? `no news from the run for ${age(silent)}` : `updated ${age(silent)} ago`;
    if (past) beat.textContent = [progress.detail, "as it was then"].filter(Boolean).join(", ");
    else beat.textContent = lost ? "its scheduler is gone" : [progress.detail || (ended || quiet ? "" : "live"), ended || status === "paused" || !fresh ? "" : told].filter(Boolean).join(", ");
    beat.classList.toggle("warn", quiet && status === "running" && fresh);
    const canStep = (status === "running" || status === "paused") && !progress.stopping && fresh;
    pause.textContent = status === "paused" ? "Resume" : "Pause";
    pause.setAttribute("aria-label", status === "paused" ? "Resume the run" : "Pause the run after this step");
    for (const node of [pause, save]) { node.disabled = !canStep || asked === "pause" || asked === "resume"; node.title = node.disabled && !canStep ? "Only while the run trains" : ""; }
    stop.disabled = ended || progress.stopping || connection.state === "disconnected";
    controls.hidden = ended || past || run.control === false;
    back.hidden = !run.player?.can_look_back;
    if ((ended || past) && !ask.hidden) ask.hidden = true;
  }

  const back = button("Look back", { label: "Look at a moment of the run's past", kind: "quiet", hint: "The run goes on meanwhile", onClick: () => connection.command("play", { action: "open" }).catch((error) => say(error.message, true)) });
  const controls = el("div", { class: "db-run", role: "toolbar", "aria-label": "Run controls" }, pause, save, stop);
  const tools = el("div", { class: "db-controls" }, controls, back, opener);
  const node = el("header", { class: "db-head" },
    el("div", { class: "db-title", role: "heading", "aria-level": "2" }, name, el("span", { class: "db-status", role: "status" }, dot, word), beat),
    tools, summary, ask, answer);
  const timer = setInterval(show, 1000);
  return {
    node, say,
    update(next, nextRun) {
      if (!next) return;
      if (next.heard_s !== heard.timeS) {
        const behindMs = heard.timeS === null ? Math.max(0, Date.now() - 1000 * (next.heard_s ?? 0)) : 0; // a view that opens late
        heard = { timeS: next.heard_s, atMs: performance.now() - behindMs };
      }
      const changed = progress && (progress.status !== next.status || progress.checkpoint_step !== next.checkpoint_step || progress.stopping !== next.stopping);
      if (changed && asked) { asked = null; say(""); }
      progress = next;
      run = nextRun;
      show();
    },
    destroy: () => clearInterval(timer),
  };
}
