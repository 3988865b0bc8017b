// The run's past: a moment is chosen on a slider, or played at a speed; the picture is that of then.
import { button, el, select } from "../lib/dom.js";
import { clock, seconds } from "../lib/format.js";

const SPEEDS = [[0.25, "¼ ×"], [1, "1 ×"], [4, "4 ×"], [16, "16 ×"], [64, "64 ×"], [256, "256 ×"], [1024, "1,024 ×"]];
const EVERY_MS = 250; // between two moments asked for while the slider moves
const STEPS = 1000; // of the slider

export function player(connection) {
  let facts = null;
  let held = false; // a person holds the slider: it does not follow the film
  let waiting = null; // the position to ask for next
  let asking = false;
  const trouble = el("span", { class: "fail", role: "status" });
  const tell = (action, more = {}) => connection.command("play", { action, ...more }).then(() => { trouble.textContent = ""; }, (error) => { trouble.textContent = error.message; });
  const play = button("Play", { label: "Play the run's past", onClick: () => tell(facts?.playing ? "pause" : "play") });
  const time = el("output", { class: "db-moment", "aria-live": "off" });
  const slide = el("input", { type: "range", "aria-label": "Moment of the run", min: 0, max: STEPS, step: 1, value: 0 });
  const speeds = select("Speed of the replay", SPEEDS.map(([value, words]) => [String(value), words]), "16", (value) => tell("speed", { speed: Number(value) }));
  const live = button("Back to live", { label: "Back to the run as it is now", kind: "primary", onClick: () => tell("live") });
  const read = el("span", { class: "sec" });
  const node = el("div", { class: "db-player", role: "group", "aria-label": "Replay of the run", hidden: true }, play, slide, time, speeds, live, read, trouble);

  slide.addEventListener("input", () => { held = true; waiting = (facts.length_s * Number(slide.value)) / STEPS; show(waiting); ask(); });
  slide.addEventListener("change", () => { held = false; });

  /** One question at a time, and the newest moment only. */
  function ask() {
    if (asking || waiting === null) return;
    asking = true;
    const position = waiting;
    waiting = null;
    tell("seek", { position_s: position }).finally(() => setTimeout(() => { asking = false; ask(); }, EVERY_MS));
  }

  function show(position) {
    time.textContent = `${seconds(position)} of ${seconds(facts.length_s)}, ${clock(facts.start_s + position)}`;
    slide.setAttribute("aria-valuetext", time.textContent);
  }

  return {
    node,
    update(next) {
      facts = next ?? null;
      node.hidden = !facts || facts.mode === "live";
      if (node.hidden) return;
      play.textContent = facts.playing ? "Pause" : "Play";
      play.setAttribute("aria-label", facts.playing ? "Pause the replay" : "Play the run's past");
      live.hidden = !facts.can_return;
      if (document.activeElement !== speeds) speeds.value = String(nearest(facts.speed));
      read.textContent = facts.read === null ? "" : `reading the log, ${Math.round(100 * facts.read)}%`;
      if (!held && !asking) { slide.value = facts.length_s ? String(Math.round((STEPS * facts.position_s) / facts.length_s)) : "0"; show(facts.position_s); }
    },
  };
}

const nearest = (speed) => SPEEDS.reduce((best, [value]) => (Math.abs(Math.log(value / speed)) < Math.abs(Math.log(best / speed)) ? value : best), SPEEDS[0][0]);
