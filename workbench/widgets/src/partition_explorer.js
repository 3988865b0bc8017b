// PartitionExplorer: methods and numbers of parts side by side on linked maps, with traffic, balance, quality and cost.
import { busyLine, debounce, errorBox } from "./lib/dom.js";
import { CancelledError } from "./lib/connection.js";
import { count } from "./lib/format.js";
import { defineWidget } from "./lib/widget.js";
import { balanceLimit } from "./partition/balance.js";
import { ColumnView } from "./partition/column.js";
import { key, selectionRow, settingsRow } from "./partition/controls.js";
import { costSection } from "./partition/cost.js";
import { Costing } from "./partition/costing.js";
import { keepFocus } from "./partition/focus.js";
import { NodeGrid, Renderer } from "./partition/gl.js";
import { orderedEdges, tintsOf } from "./partition/layers.js";
import { Zoom } from "./partition/map.js";
import { Mapping } from "./partition/mapping.js";
import { buildPage, columnRoom, doneText, edgesShown, factTiles, footText, tipLines, waitingText } from "./partition/page.js";
import { sharedAsk } from "./partition/shared.js";
import { readTheme, watchTheme } from "./partition/theme.js";
import { trafficScale } from "./partition/traffic.js";
import css from "./partition_explorer.css";

const OWN = new Set(["edges", "node"]); // what is in view and under the pointer differs from view to view

class Explorer {
  constructor({ root, connection, width }) {
    Object.assign(this, { root, connection, width, snapshot: null, costs: null, columns: [], views: [], dirty: true });
    this.state = { map: null, roles: null, part: null, hover: -1, marked: null, bundles: null, closer: null, showCut: true, tool: "move", by: "part", draw: "nodes" };
    this.renderer = new Renderer(() => this.drawMaps());
    if (!this.renderer.available) this.state.draw = "quotient";
    this.zoom = new Zoom();
    this.stop = { partition: null, map: null };
    this.own = { key: Math.random().toString(36).slice(2), end: new AbortController() }; // of what this view alone asks
    this.busy = { partition: busyLine(() => this.cancel()), map: busyLine(() => this.cancel()) };
    Object.assign(this, buildPage(root, this.busy));
    this.askNode = debounce((node) => this.explain(node), 80);
    this.mapping = new Mapping(this);
    this.costing = new Costing(this);
    this.unwatch = watchTheme(() => { this.theme = null; this.drawMaps(); this.drawDetails(); });
  }

  // -- what comes from the kernel --------------------------------------------------------------------------------

  update(snapshot) {
    if (!snapshot.settings) return;
    const before = this.snapshot;
    this.late = null;
    if (this.stop.partition) { // an answer is on its way: until then the controls show what was asked for
      this.late = snapshot.settings;
      snapshot = { ...snapshot, settings: before.settings };
    }
    this.snapshot = snapshot;
    this.title.textContent = snapshot.facts.name;
    this.facts.replaceChildren(...factTiles(snapshot.facts.tiles));
    this.drawControls();
    const wanted = JSON.stringify({ ...snapshot.settings, selected_part: null });
    if (wanted !== this.asked) this.askPartition();
    else if (snapshot.settings.selected_part !== this.state.part) this.askRoles(snapshot.settings.selected_part);
    this.costing.follow();
    if (!before) this.mapping.start();
  }

  delta(body) {
    if (!("busy" in body) || this.stop.partition || this.stop.map) return;
    if (body.busy) this.busy.partition.show(...body.busy);
    else this.busy.partition.hide();
  }

  fail(error) {
    if (!(error instanceof CancelledError)) this.trouble.replaceChildren(errorBox(error.message));
  }

  async ask(question, args, line) {
    if (OWN.has(question)) return this.connection.ask(question, args, { key: this.own.key, signal: this.own.end.signal });
    const stop = new AbortController();
    if (line) { this.stop[line] = stop; this.busy[line].show(0, line === "map" ? "waiting to lay out the graph" : "waiting"); }
    try {
      return await sharedAsk(this.connection, question, args, { signal: stop.signal, onProgress: (fraction, words) => line && this.stop[line] === stop && this.busy[line].show(fraction, words) });
    } finally {
      if (line && this.stop[line] === stop) { this.stop[line] = null; this.busy[line].hide(); }
    }
  }

  cancel() {
    for (const stop of Object.values(this.stop)) stop?.abort();
    this.connection.command("cancel").catch((error) => this.fail(error));
    this.setStatus("Cancelled: what is shown is complete, what was asked for was not made");
  }

  async askPartition({ again = false } = {}) {
    const { methods, num_parts, rng_seed, selected_part } = this.snapshot.settings;
    this.asked = JSON.stringify({ ...this.snapshot.settings, selected_part: null });
    this.trouble.replaceChildren();
    this.setStatus("Computing");
    try {
      const answer = await this.ask("partition", { methods, num_parts, rng_seed, again }, "partition");
      if (this.gone) return;
      this.trouble.replaceChildren();
      ({ columns: this.columns, costs: this.costs } = answer);
      const part = selected_part !== null && selected_part < Math.max(...num_parts) ? selected_part : null;
      Object.assign(this.state, { part, roles: null, bundles: null });
      this.layout();
      this.mapping.askEdges();
      if (this.state.part !== null) await this.askRoles(this.state.part);
    } catch (error) {
      this.fail(error);
      if (!(error instanceof CancelledError)) this.setStatus("Failed: the reason is below", "fail");
    }
    if (this.late && !this.stop.partition) this.update({ ...this.snapshot, settings: this.late });
  }

  async askRoles(part) {
    this.state.part = part;
    this.drawSelection();
    try {
      const { roles } = await this.ask("roles", { part });
      this.state.roles = part === null ? null : roles;
      this.layers();
      this.drawMaps();
      this.drawDetails();
      this.mapping.askEdges();
      this.root.dataset.part = String(part);
    } catch (error) { this.fail(error); }
  }

  async explain(node) {
    try {
      const facts = await this.ask("node", { query: node });
      if (this.state.hover === facts.node) this.showFacts(facts);
    } catch (error) { this.fail(error); }
  }

  async find(query) {
    if (query === null) { this.hover(-1); return; }
    try {
      const facts = await this.ask("node", { query });
      this.trouble.replaceChildren();
      this.state.hover = facts.node;
      this.showFacts(facts);
      this.views.forEach((view) => view.map.drawOver());
    } catch (error) { this.fail(error); }
  }

  async lasso(polygon) {
    try {
      const { num_nodes, node_ids } = await this.ask("lasso", { polygon });
      this.state.marked = node_ids;
      this.root.dataset.selected = String(num_nodes);
      this.setStatus(num_nodes ? `${count(num_nodes)} nodes selected: explorer.selected_nodes` : "No node selected");
      this.views.forEach((view) => view.map.drawOver());
    } catch (error) { this.fail(error); }
  }

  hover(node) {
    if (node === this.state.hover) return;
    this.state.hover = node;
    this.root.dataset.hover = String(node);
    this.views.forEach((view) => { view.map.showTip(node < 0 ? null : [`node ${node}`, `part ${view.column.assignment[node]}`]); view.map.drawOver(); });
    if (node >= 0) this.askNode(node);
  }

  pick(node, at) {
    if (node === null) {
      if (this.state.marked?.length) this.lasso([]);
      this.askRoles(null);
    } else if (node >= 0) this.askRoles(this.columns[at].assignment[node]);
  }

  showFacts(facts) {
    this.root.dataset.node = String(facts.node);
    this.views.forEach((view, i) => view.map.showTip(tipLines(facts, facts.places[i])));
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  drawControls() { keepFocus(this.root, () => this.#makeControls()); }

  #makeControls() {
    this.controls.replaceChildren(settingsRow({ snapshot: this.snapshot, look: this.state, on: {
      settings: (change) => { Object.assign(this.snapshot.settings, change); this.drawControls(); this.askPartition(); },
      again: () => this.askPartition({ again: true }),
      by: (by) => { this.state.by = by; this.layers(); this.drawMaps(); this.drawSelection(); },
      cost: (change) => this.costing.ask(change),
      draw: (draw) => { this.state.draw = draw; this.drawSelection(); this.drawMaps(); },
    } }));
    if (!this.cost) {
      this.cost = costSection({ onChange: (change) => this.costing.ask(change) });
      this.costPlace.append(this.cost.node);
    }
    this.cost.set(this.snapshot);
  }

  drawSelection() {
    const canSelect = this.state.draw === "nodes";
    const numParts = Math.max(...(this.columns.length ? this.columns.map((column) => column.num_parts) : this.snapshot.settings.num_parts));
    this.selection.replaceChildren(selectionRow({ numParts, part: this.state.part, look: this.state, canSelect, on: {
      part: (part) => this.askRoles(part),
      cut: (shown) => { this.state.showCut = shown; this.drawMaps(); },
      tool: (tool) => { this.state.tool = tool; },
      find: (query) => this.find(query),
      zoom: (factor) => { if (factor) this.zoom.by(factor); else this.zoom.reset(); this.drawMaps(); this.mapping.lookCloser(); },
    } }));
    this.key.replaceChildren(key({ part: this.state.part, draw: this.state.draw, by: this.state.by, facts: this.snapshot.facts }));
  }

  /** What all maps share. */
  shared() {
    return {
      renderer: this.renderer, zoom: this.zoom, state: this.state, theme: () => (this.theme ??= readTheme(this.root)),
      grid: () => (this.state.map ? (this.nodeGrid ??= new NodeGrid(this.state.map.positions)) : null),
      onHover: (node) => this.hover(node), onPick: (node, at) => this.pick(node, at), onLasso: (polygon) => this.lasso(polygon),
      onZoom: () => { this.drawMaps(); this.mapping.lookCloser(); },
    };
  }

  /** Makes the columns anew: after another set of partitions came. */
  layout() {
    const shared = this.shared();
    this.views = this.columns.map((column, i) => new ColumnView(i, column, shared, (part) => this.askRoles(part)));
    this.grid.replaceChildren(...this.views.map((view) => view.head));
    this.below.replaceChildren(...this.views.map((view) => view.details));
    this.renderer.dropLayers(new Set(this.views.keys()));
    this.state.hover = -1;
    this.drawSelection();
    this.resize(this.width);
    this.layers();
    this.drawAll();
    this.done();
  }

  /** Brings colours, roles and edge order of every map to the GPU. */
  layers() {
    const { map, roles, part, by } = this.state;
    if (!map) return;
    const none = (this.noRoles = this.noRoles?.length === map.positions.length / 2 ? this.noRoles : new Uint8Array(map.positions.length / 2));
    if (!this.columns.length) this.mapping.showUndivided();
    this.columns.forEach((column, i) => {
      const shown = roles?.[i] ? part : null;
      this.renderer.setLayer(i, { tints: tintsOf(by, column, map), roles: roles?.[i] ?? none, ...orderedEdges(this.state.closer ?? map.edges, column.assignment, shown) });
    });
  }

  drawMaps() {
    const pass = { symmetric: this.snapshot?.facts.symmetric, available: this.renderer.available };
    if (!this.columns.length) this.mapping.undivided?.draw();
    this.views.forEach((view) => view.drawMap(this.state, pass));
  }

  drawDetails() {
    if (!this.columns.length) return;
    const pass = { scale: trafficScale(this.columns), limit: balanceLimit(this.columns), widths: this.costs.settings.widths, part: this.state.part };
    this.views.forEach((view) => view.drawDetails(pass));
  }

  drawCost() {
    if (this.costs) { this.lead.textContent = this.costs.lead; this.cost.draw(this.costs, this.width); }
  }

  drawAll() { this.drawMaps(); this.drawDetails(); this.drawCost(); }

  resize(width) {
    this.width = width;
    if (!this.views.length) return;
    const { maps, details, mapRoom, detailRoom } = columnRoom(width, this.columns);
    this.grid.style.setProperty("--pe-columns", maps);
    this.below.style.setProperty("--pe-columns", details);
    this.views.forEach((view) => view.resize(mapRoom, detailRoom));
  }

  setStatus(text, kind = "") { this.status.textContent = text; this.status.className = `pe-status ${kind}`; }
  done() {
    const { map } = this.state;
    if (!this.columns.length) { if (map) this.setStatus(waitingText(map)); return; }
    this.setStatus(doneText(this.columns.length, map), map ? "done" : "");
    this.root.dataset.columns = this.columns.map((column) => `${column.method}:${column.num_parts}:${column.cut}`).join(" ");
    this.foot.textContent = footText(this.snapshot.facts, this.state, this.columns);
    this.root.dataset.edges = edgesShown(this.state);
  }

  destroy() { this.gone = true; this.own.end.abort(); this.unwatch(); this.renderer.destroy(); }
}

export default defineWidget({
  label: "Partition explorer",
  css,
  build(parts) {
    const explorer = new Explorer(parts);
    return {
      update: (snapshot) => explorer.update(snapshot),
      delta: (body) => explorer.delta(body),
      resize: (width) => { explorer.resize(width); explorer.dirty = true; },
      draw: () => { if (explorer.dirty && explorer.columns.length) { explorer.dirty = false; explorer.drawAll(); explorer.root.dataset.wide = String(explorer.width); } },
      destroy: () => explorer.destroy(),
    };
  },
});
