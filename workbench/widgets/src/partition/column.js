// One partition: its map with a sentence, and below its traffic, balance and quality.
import { el, table } from "../lib/dom.js";
import { count, percent } from "../lib/format.js";
import { balanceBars } from "./balance.js";
import { ASPECT, MapView } from "./map.js";
import { quotient } from "./quotient.js";
import { layerBytes, trafficMatrix } from "./traffic.js";

const MATRIX_WIDTH = 236;

export class ColumnView {
  constructor(index, column, shared, onPick) {
    Object.assign(this, { index, column, onPick });
    this.map = new MapView(index, shared);
    this.map.column = column;
    this.quotient = el("div", { class: "pe-quotient", hidden: true });
    this.say = el("p", { class: "pe-say" });
    this.head = el("div", { class: "pe-column", "aria-label": column.label, role: "group" },
      el("div", { class: "pe-map-head" }, el("h3", {}, column.label), el("small", { class: "pe-sub", title: column.sub }, column.sub),
        el("span", { class: "pe-cut" }, el("b", {}, count(column.cut)), el("small", {}, ` edges cut, ${percent(column.cut_ratio, 1)} of all`))),
      this.map.node, this.quotient, this.say);
    this.details = el("div", { class: "pe-details", "aria-label": `Figures of ${column.label}`, role: "group" });
  }

  /** `room`: of the map; `details`: of the figures below. */
  resize(room, details) {
    this.room = room;
    this.width = details;
    this.map.resize(room - 2);
  }

  /** The selected part, where this partition has it. */
  #own(part) { return part !== null && part < this.column.num_parts ? part : null; }

  drawMap(state, { symmetric, available }) {
    const nodes = state.draw === "nodes" && available;
    this.map.node.hidden = !nodes;
    this.quotient.hidden = nodes;
    if (nodes) { this.map.draw(); return; }
    const drawing = quotient({ column: this.column, width: this.room - 2, height: Math.round(this.room * ASPECT), part: this.#own(state.part), symmetric, onPick: this.onPick });
    const why = available ? [] : [el("p", { class: "sec" }, "This browser has no WebGL2, so the nodes are not drawn: here is the quotient graph. The figures below are complete.")];
    this.quotient.replaceChildren(drawing, ...why);
  }

  drawDetails({ scale, limit, widths, part }) {
    const { column } = this;
    this.say.replaceChildren(...this.#sentence(part, widths));
    const wide = this.width >= 404;
    const room = wide ? Math.min(420, this.width - MATRIX_WIDTH - 24) : Math.min(this.width, 400);
    const heads = ["Quality", { text: column.label, num: true }, ...(column.against ? [{ text: `against ${column.against}`, num: true }] : [])];
    const rows = column.figures.map((row) => [
      el("span", { title: row.meaning }, row.label), el("b", { title: row.meaning }, row.text),
      ...(column.against ? [el("span", { class: `pe-${row.kind}` }, row.verdict)] : [])]);
    this.details.replaceChildren(
      el("div", { class: wide ? "pe-two" : "pe-one" },
        trafficMatrix({ column, scale, part, widths, onPick: this.onPick }),
        balanceBars({ column, width: room, limit })),
      table(heads, rows, { label: `Quality of ${column.label}`, className: "pe-quality" }));
  }

  #sentence(part, widths) {
    const { column } = this;
    if (part === null) return ["Select a part to see its boundary and its halo."];
    if (this.#own(part) === null) return [`There is no part ${part} here: the ${column.num_parts} parts are 0 to ${column.num_parts - 1}.`];
    const reads = column.traffic ? Array.from({ length: column.num_parts }, (_, j) => j).filter((j) => j !== part && column.traffic[part * column.num_parts + j]).length : null;
    const rows = column.halo[part];
    const all = reads === column.num_parts - 1 ? "the " : "";
    const from = reads === null ? "" : reads === 1 ? ` of ${all || "1 "}other part` : ` of ${all}${reads} other parts`;
    return [el("b", {}, `Part ${part}`), ` owns ${count(column.nodes[part])} nodes; ${count(column.boundary[part])} of them are read by other parts. It reads `,
      el("b", {}, `${count(rows)} halo nodes`), `${from}: ${layerBytes(rows, widths)}.`];
  }
}
