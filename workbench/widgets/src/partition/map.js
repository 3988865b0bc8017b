// One map: a canvas with the picture of the renderer, one above it with labels, hover and lasso, and its pointer and keys.
import { el } from "../lib/dom.js";
import { drawBundles } from "./bundles.js";
import { middles, nodeRadius, strokesOf } from "./layers.js";

export const ASPECT = 0.9;
const NEAR_PX = 8;
const MAX_MARKED = 20_000;
const FONT = '11px system-ui, "Noto Sans", sans-serif';

/** The zoom that all maps share: canvas fraction = place * scale + offset. */
export class Zoom {
  constructor() { this.reset(); }
  reset() { Object.assign(this, { scale: 1, x: 0, y: 0 }); }
  by(factor, u = 0.5, v = 0.5) {
    const scale = Math.min(200, Math.max(1, this.scale * factor));
    this.x = u - ((u - this.x) * scale) / this.scale;
    this.y = v - ((v - this.y) * scale) / this.scale;
    this.scale = scale;
    this.#clamp();
  }
  /** What is in view, in layout coordinates: [x0, y0, x1, y1]. */
  box() {
    const [left, top] = [-this.x / this.scale, -this.y / this.scale];
    return [left, 1 - top - 1 / this.scale, left + 1 / this.scale, 1 - top];
  }
  pan(du, dv) { this.x += du; this.y += dv; this.#clamp(); }
  #clamp() {
    this.x = Math.min(0, Math.max(1 - this.scale, this.x));
    this.y = Math.min(0, Math.max(1 - this.scale, this.y));
  }
}

/** shared: {renderer, zoom, state, theme(), grid(), onHover(node), onPick(node, key), onLasso(polygon), onZoom()} */
export class MapView {
  constructor(key, shared) {
    this.key = key;
    this.shared = shared;
    this.base = el("canvas", { class: "pe-base" });
    this.over = el("canvas", { class: "pe-over", tabindex: "0", role: "img" });
    this.tip = el("div", { class: "pe-tip", hidden: true });
    this.note = el("p", { class: "pe-map-note", hidden: true });
    this.node = el("div", { class: "pe-map" }, this.base, this.over, this.tip, this.note);
    this.lasso = null;
    this.#listen();
  }

  set column(column) {
    this.data = column;
    this.middles = null;
    this.over.setAttribute("aria-label", `Map of the graph by ${column.label}: nodes coloured by part. Arrow keys move, plus and minus zoom, 0 resets, Escape clears the selection.`);
  }

  resize(width) {
    this.width = Math.max(120, Math.round(width));
    this.height = Math.round(this.width * ASPECT);
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.base, this.over]) {
      Object.assign(canvas, { width: Math.round(this.width * this.ratio), height: Math.round(this.height * this.ratio) });
      Object.assign(canvas.style, { width: `${this.width}px`, height: `${this.height}px` });
    }
  }

  say(text) { this.note.textContent = text; this.note.hidden = !text; }

  draw() {
    const { renderer, zoom, state } = this.shared;
    if (!this.width || !state.map) return;
    const theme = this.shared.theme();
    const num = state.map.positions.length / 2;
    const selected = state.part !== null && Boolean(state.roles?.[this.key]); // a partition may have no such part
    const look = {
      view: zoom, palette: theme.palette, ink: theme.ink, dim: selected ? 0.42 : 1,
      radius: nodeRadius(num, zoom.scale) * this.ratio * Math.min(1.1, Math.max(0.75, this.width / 452)),
      under: (pen) => this.#drawBundles(pen, theme, selected),
      strokes: strokesOf({ numEdges: (state.closer ?? state.map.edges).length / 2, zoom: zoom.scale, selected, showCut: state.showCut, dark: theme.dark }),
    };
    const drawn = renderer.draw(this.key, this.base.getContext("2d"), this.base.width, this.base.height, look);
    this.node.dataset.drawn = drawn ? String(num) : renderer.lost ? "lost" : "none";
    this.say(renderer.lost ? "The browser took the drawing context away; the map comes back when it returns it. The figures below are complete." : "");
    this.drawOver(theme);
  }

  #drawBundles(pen, theme, selected) {
    const { zoom, state } = this.shared;
    const own = state.bundles?.columns[this.key];
    if (!own || state.closer) return;
    const place = (cell) => [(state.bundles.middles[2 * cell] / 65535 * zoom.scale + zoom.x) * this.base.width, ((1 - state.bundles.middles[2 * cell + 1] / 65535) * zoom.scale + zoom.y) * this.base.height];
    drawBundles(pen, own, { place, theme, selected, showCut: state.showCut, ratio: this.ratio });
  }

  at(node) {
    const { zoom, state: { map } } = this.shared;
    return [(map.positions[2 * node] / 65535 * zoom.scale + zoom.x) * this.width, ((1 - map.positions[2 * node + 1] / 65535) * zoom.scale + zoom.y) * this.height];
  }

  drawOver(theme = this.shared.theme()) {
    const { state } = this.shared;
    if (!this.width || !state.map) return;
    const pen = this.over.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.#drawStrip(pen, theme);
    this.#drawMarked(pen, theme);
    if (state.hover >= 0) this.#drawRing(pen, theme, state.hover);
    this.#drawLabels(pen, theme);
    if (this.lasso) this.#drawLasso(pen, theme);
  }

  #drawStrip(pen, theme) {
    const { zoom, state: { map } } = this.shared;
    if (!map.strip_y) return;
    const y = Math.round(((1 - map.strip_y) * zoom.scale + zoom.y) * this.height) + 0.5;
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(0, y);
    pen.lineTo(this.width, y);
    pen.stroke();
    pen.font = FONT;
    pen.fillStyle = theme.ink2;
    pen.textAlign = "left";
    const few = map.num_small_components === 1 ? "component" : "components";
    pen.fillText(`${map.num_small_nodes.toLocaleString("en")} nodes in ${map.num_small_components.toLocaleString("en")} small ${few}`, 8, y + 14);
  }

  #drawLabels(pen, theme) {
    const { zoom, state: { map } } = this.shared;
    if (!this.data.num_parts || this.data.num_parts > 8) return;
    this.middles ??= middles(this.data, map);
    const places = this.middles.map((place) => place && [(place[0] * zoom.scale + zoom.x) * this.width, ((1 - place[1]) * zoom.scale + zoom.y) * this.height]);
    const known = places.filter(Boolean);
    for (let i = 0; i < known.length; i++) for (let j = 0; j < i; j++) if (Math.hypot(known[i][0] - known[j][0], known[i][1] - known[j][1]) < 44) return;
    pen.font = `600 13px system-ui, "Noto Sans", sans-serif`;
    pen.textAlign = "center";
    places.forEach((place, part) => {
      if (!place) return;
      const words = `part ${part}`;
      const wide = pen.measureText(words).width + 8;
      pen.globalAlpha = 0.85;
      pen.fillStyle = theme.ground;
      pen.beginPath();
      pen.roundRect(place[0] - wide / 2, place[1] - 13, wide, 18, 4);
      pen.fill();
      pen.globalAlpha = 1;
      pen.fillStyle = theme.text;
      pen.fillText(words, place[0], place[1]);
    });
  }

  #drawMarked(pen, theme) {
    const { marked } = this.shared.state;
    if (!marked?.length) return;
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1.5;
    const stride = Math.ceil(marked.length / MAX_MARKED);
    pen.beginPath();
    for (let i = 0; i < marked.length; i += stride) {
      const [x, y] = this.at(marked[i]);
      pen.moveTo(x + 3.5, y);
      pen.arc(x, y, 3.5, 0, 7);
    }
    pen.stroke();
  }

  #drawRing(pen, theme, node) {
    const [x, y] = this.at(node);
    for (const [color, width] of [[theme.ground, 4], [theme.accent, 2]]) {
      pen.beginPath();
      pen.arc(x, y, NEAR_PX, 0, 7);
      pen.strokeStyle = color;
      pen.lineWidth = width;
      pen.stroke();
    }
  }

  #drawLasso(pen, theme) {
    pen.beginPath();
    this.lasso.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.globalAlpha = 0.12;
    pen.fillStyle = theme.accent;
    pen.fill();
    pen.globalAlpha = 1;
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1.5;
    pen.setLineDash([4, 3]);
    pen.stroke();
    pen.setLineDash([]);
  }

  /** The tip: what is known of the node under the pointer, in this map's partition. */
  showTip(lines) {
    this.tip.hidden = !lines;
    if (lines) this.tip.replaceChildren(...lines.map((line, i) => el(i ? "span" : "b", {}, line)));
  }

  #nodeAt(x, y) {
    const { zoom } = this.shared;
    const u = ((x / this.width - zoom.x) / zoom.scale) * 65535;
    const v = (1 - (y / this.height - zoom.y) / zoom.scale) * 65535;
    return this.shared.grid()?.nearest(u, v, (NEAR_PX / this.width / zoom.scale) * 65535, (NEAR_PX / this.height / zoom.scale) * 65535) ?? -1;
  }

  #listen() {
    const { over, shared } = this;
    const place = (event) => { const box = over.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let drag = null;
    over.addEventListener("pointerdown", (event) => {
      drag = { start: place(event), last: place(event), moved: false };
      over.setPointerCapture(event.pointerId);
      if (shared.state.tool === "lasso" || event.shiftKey) this.lasso = [drag.start];
    });
    over.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!drag) { shared.onHover(this.#nodeAt(x, y)); return; }
      drag.moved ||= Math.hypot(x - drag.start[0], y - drag.start[1]) > 4;
      if (this.lasso) {
        const [px, py] = this.lasso.at(-1);
        if (Math.hypot(x - px, y - py) > 4) { this.lasso.push([x, y]); this.drawOver(); }
      } else if (drag.moved) {
        shared.zoom.pan((x - drag.last[0]) / this.width, (y - drag.last[1]) / this.height);
        shared.onZoom();
      }
      drag.last = [x, y];
    });
    const end = (event) => {
      if (!drag) return;
      const [x, y] = place(event);
      const lasso = this.lasso;
      this.lasso = null;
      if (lasso && drag.moved) shared.onLasso(lasso.map(([px, py]) => [(px / this.width - shared.zoom.x) / shared.zoom.scale, 1 - (py / this.height - shared.zoom.y) / shared.zoom.scale]).flat());
      else if (!drag.moved && event.type === "pointerup") shared.onPick(this.#nodeAt(x, y), this.key);
      drag = null;
      this.drawOver();
    };
    over.addEventListener("pointerup", end);
    over.addEventListener("pointercancel", end);
    over.addEventListener("pointerleave", () => drag || shared.onHover(-1));
    over.addEventListener("wheel", (event) => {
      if (document.activeElement !== over && !event.ctrlKey) return; // the page scrolls until the map has the focus
      event.preventDefault();
      const [x, y] = place(event);
      shared.zoom.by(Math.exp(-event.deltaY * 0.0015), x / this.width, y / this.height);
      shared.onZoom();
    }, { passive: false });
    over.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    const { zoom, onZoom, onPick } = this.shared;
    const step = 0.1;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) zoom.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom.by(1.5);
    else if (event.key === "-") zoom.by(1 / 1.5);
    else if (event.key === "0") zoom.reset();
    else if (event.key === "Escape") { onPick(null, this.key); return; }
    else return;
    event.preventDefault();
    onZoom();
  }
}
