// Where the nodes of the maps come from: first a sketch, then the layout, then the edges of what is in view.
import { debounce } from "../lib/dom.js";
import { undividedLayer } from "./layers.js";
import { MapView } from "./map.js";

const LOOK_CLOSER_MS = 200; // after the last movement

export class Mapping {
  constructor(explorer) {
    this.explorer = explorer;
    this.lookCloser = debounce(() => this.askEdges(), LOOK_CLOSER_MS);
  }

  start() { this.askSketch(); this.askMap(); }

  /** A coarse picture of a large graph, to look at until the layout is there. */
  async askSketch() {
    const { explorer } = this;
    try {
      const { map } = await explorer.ask("sketch", {});
      if (map && !explorer.state.map) this.showMap(map);
    } catch (error) { explorer.fail(error); }
  }

  async askMap() {
    const { explorer } = this;
    try { this.showMap(await explorer.ask("map", {}, "map")); } catch (error) { explorer.fail(error); }
  }

  showMap(map) {
    const { explorer } = this;
    if (explorer.gone) return;
    explorer.state.map = map;
    explorer.renderer.setPositions(map.positions);
    explorer.nodeGrid = null;
    explorer.layers();
    explorer.drawMaps();
    explorer.root.dataset.map = map.is_sketch ? "sketch" : "layout";
    explorer.done();
    this.askEdges();
  }

  /** What is drawn of too many edges: the single ones in view where they are few enough, else bundles of them. */
  async askEdges() {
    const { explorer } = this;
    const { map, part } = explorer.state;
    if (!map?.is_bundled || !explorer.columns.length) return;
    try {
      const { edges, bundles } = await explorer.ask("edges", { part, box: explorer.zoom.box() });
      if (explorer.gone || (bundles && bundles.columns.length !== explorer.columns.length)) return;
      const changes = edges || explorer.state.closer;
      Object.assign(explorer.state, { closer: edges, bundles });
      if (changes) explorer.layers();
      explorer.drawMaps();
      explorer.done();
    } catch (error) { explorer.fail(error); }
  }

  /** The map without colours, until the first partition is there. */
  showUndivided() {
    const { explorer } = this;
    if (explorer.state.draw !== "nodes") return;
    const num = explorer.state.map.positions.length / 2;
    explorer.renderer.setLayer("undivided", undividedLayer(num));
    this.undivided ??= new MapView("undivided", { ...explorer.shared(), onHover: () => {}, onPick: () => {}, onLasso: () => {} });
    this.undivided.column = { label: "no method yet", num_parts: 0 };
    explorer.grid.replaceChildren(this.undivided.node);
    this.undivided.resize(Math.min(explorer.width, 760) - 2);
    this.undivided.draw();
  }
}
