// The smallest widget that uses everything of lib: a number from the snapshot, deltas, a question, a command.
import { busyLine, button, el, errorBox, numberField, labelled } from "../../workbench/widgets/src/lib/dom.js";
import { frame, niceRange, pathOf } from "../../workbench/widgets/src/lib/chart.js";
import { CancelledError } from "../../workbench/widgets/src/lib/connection.js";
import { svg } from "../../workbench/widgets/src/lib/dom.js";
import { defineWidget } from "../../workbench/widgets/src/lib/widget.js";

export default defineWidget({
  label: "Demo",
  css: ".wb .demo-total { font-size: 20px; font-weight: 600; }",
  build({ root, connection, width }) {
    let values = [];
    let room = width;
    const total = el("p", { class: "demo-total" });
    const chart = el("div");
    const answer = el("p", { class: "demo-answer", role: "status" });
    const trouble = el("div");
    const stop = new AbortController();
    const busy = busyLine(() => stop.abort());
    const ask = (n) => {
      trouble.replaceChildren();
      busy.show(0, "summing");
      connection.ask("sum", { n }, { onProgress: busy.show, signal: stop.signal })
        .then((body) => { answer.textContent = `sum ${body.sum}, last ${body.squares.at(-1)}`; busy.hide(); })
        .catch((error) => { if (!(error instanceof CancelledError)) { trouble.replaceChildren(errorBox(error.message)); } busy.hide(); });
    };
    root.append(total, chart, labelled("Count", numberField("Count", 3, { min: -9, max: 1e6, onChange: ask })),
      button("Stop", { label: "Stop the demo", onClick: () => connection.command("stop").then(() => { answer.textContent = "stopped"; }) }),
      busy.node, answer, trouble);
    return {
      update(snapshot) { values = [...(snapshot.values ?? [])]; },
      delta(body) { values.push(body.value); },
      resize(now) { room = now; },
      draw() {
        total.textContent = `total ${values.reduce((a, b) => a + b, 0)}`;
        const axes = frame({ width: room, x: { range: [0, Math.max(values.length, 1)], title: "number" }, y: { range: niceRange(values, { zero: true }), title: "value" }, label: "Values" });
        axes.plot.append(svg("path", { d: pathOf(values.map((value, i) => [i, value]), axes.X, axes.Y), fill: "none", stroke: "var(--wb-ink)" }));
        chart.replaceChildren(axes.node);
      },
    };
  },
});
