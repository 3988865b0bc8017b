// Nodes and edges of a graph in WebGL2: one hidden context for all maps of a widget, each copied to its own canvas.
// Positions go to the GPU once; a map differs from the next by the colours and roles of nodes and the order of edges.

import { DETAIL_FROM, visibleNodes } from "./detail.js";

const VERTEX = `#version 300 es
layout(location=0) in vec2 place; layout(location=1) in float tint; layout(location=2) in float role;
uniform vec4 view; uniform float radius, dim; uniform int lines; uniform vec3 palette[10]; uniform vec4 stroke;
out vec4 fill; out float size; flat out int ring;
void main() {
  vec2 at = vec2(place.x, 1.0 - place.y) * view.xy + view.zw;
  gl_Position = vec4(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0, 0.0, 1.0);
  if (lines == 1) { fill = stroke; size = 0.0; ring = 0; return; }
  int kind = int(role + 0.5);
  gl_Position.z = 0.8 - 0.4 * float(kind);
  float scale = kind == 2 ? 1.65 : kind == 3 ? 1.6 : kind == 1 ? 0.9 : 1.0;
  size = max(2.0 * radius * scale, 1.0) + 1.0;
  gl_PointSize = size;
  ring = kind == 3 ? 1 : 0;
  fill = vec4(palette[int(tint + 0.5)], kind == 0 ? dim : 1.0);
}`;
const FRAGMENT = `#version 300 es
precision highp float; precision highp int; in vec4 fill; in float size; flat in int ring; uniform vec3 ink; uniform int lines; out vec4 color;
void main() {
  if (lines == 1) { color = vec4(fill.rgb * fill.a, fill.a); return; }
  float far = length(gl_PointCoord - 0.5) * size, rim = 0.5 * size - 0.5;
  float cover = clamp(rim - far + 0.5, 0.0, 1.0) * fill.a;
  if (cover < 0.03) discard;
  vec3 shade = ring == 1 ? mix(fill.rgb, ink, clamp(far - rim + 1.6, 0.0, 1.0) * clamp((size - 2.0) / 6.0, 0.3, 1.0)) : fill.rgb;
  color = vec4(shade * cover, cover);
}`;

/** A hidden WebGL2 canvas; `available` is false where the browser has none, `lost` while its context is lost. */
export class Renderer {
  constructor(onRestored) {
    this.canvas = document.createElement("canvas");
    this.layers = new Map();
    this.lost = false;
    this.gl = this.canvas.getContext("webgl2", { antialias: true, alpha: true, depth: true });
    this.available = Boolean(this.gl);
    if (!this.available) return;
    this.canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); this.lost = true; onRestored(); });
    this.canvas.addEventListener("webglcontextrestored", () => { this.#start(); this.lost = false; this.#reload(); onRestored(); });
    this.#start();
  }

  #start() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = (name) => (this.places[name] ??= gl.getUniformLocation(program, name));
    this.places = {};
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
    for (const slot of [0, 1, 2]) gl.enableVertexAttribArray(slot);
  }

  #upload(target, buffer, array) {
    const { gl } = this;
    buffer ??= gl.createBuffer();
    gl.bindBuffer(target, buffer);
    gl.bufferData(target, array, gl.STATIC_DRAW);
    return buffer;
  }

  #reload() {
    this.positionBuffer = this.detailBuffer = this.detail = null;
    if (this.positions) this.setPositions(this.positions);
    for (const [key, layer] of [...this.layers]) { this.layers.delete(key); this.setLayer(key, layer); }
  }

  setPositions(positions) {
    this.positions = positions; // uint16 pairs
    if (this.available && !this.lost) this.positionBuffer = this.#upload(this.gl.ARRAY_BUFFER, this.positionBuffer, positions);
  }

  /** A layer is {tints: Uint8Array, roles: Uint8Array, edges: Uint32Array in the order of ranges, ranges: [[first, count], ...]}. */
  setLayer(key, layer) {
    const { gl } = this;
    const known = this.layers.get(key) ?? {};
    const next = { ...layer, buffers: known.buffers ?? {} };
    this.layers.set(key, next);
    if (!this.available || this.lost) return;
    for (const name of ["tints", "roles"]) if (known[name] !== layer[name]) next.buffers[name] = this.#upload(gl.ARRAY_BUFFER, next.buffers[name], layer[name]);
    if (known.edges !== layer.edges) next.buffers.edges = this.#upload(gl.ELEMENT_ARRAY_BUFFER, next.buffers.edges, layer.edges);
  }

  dropLayers(keep) {
    for (const [key, { buffers }] of this.layers) {
      if (keep.has(key)) continue;
      for (const buffer of Object.values(buffers)) this.gl?.deleteBuffer(buffer);
      this.layers.delete(key);
    }
  }

  /**
   * Draws a layer at width x height device pixels and copies it to a 2D context.
   * look: {view: {scale, x, y}, radius, dim, palette: [[r,g,b] 0..1 x 10], ink, strokes: [alpha a range, ...], under?: (context) => draws what lies below}
   */
  draw(key, context, width, height, look) {
    const { gl } = this;
    const layer = this.layers.get(key);
    if (!this.available || this.lost || !layer || !this.positions) return false;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.#bind(layer);
    const { scale, x, y } = look.view;
    gl.uniform4f(this.at("view"), scale, scale, x, y);
    gl.uniform3fv(this.at("palette"), look.palette.flat());
    gl.uniform3fv(this.at("ink"), look.ink);
    gl.disable(gl.DEPTH_TEST);
    gl.uniform1i(this.at("lines"), 1);
    layer.ranges.forEach(([first, count], i) => {
      if (!count || !look.strokes[i]) return;
      gl.uniform4f(this.at("stroke"), ...look.ink, look.strokes[i]);
      gl.drawElements(gl.LINES, count, gl.UNSIGNED_INT, first * 4);
    });
    gl.enable(gl.DEPTH_TEST);
    gl.uniform1i(this.at("lines"), 0);
    gl.uniform1f(this.at("radius"), look.radius);
    gl.uniform1f(this.at("dim"), look.dim);
    this.#drawPoints(layer, look.view, width, height);
    context.clearRect(0, 0, width, height);
    look.under?.(context);
    context.drawImage(this.canvas, 0, 0);
    return true;
  }

  #drawPoints(layer, view, width, height) {
    const { gl, positions } = this;
    if (positions.length < 2 * DETAIL_FROM) { gl.drawArrays(gl.POINTS, 0, positions.length / 2); return; }
    const key = [view.scale, view.x, view.y, width, height].join();
    if (this.detail?.key !== key || this.detail.roles !== layer.roles || this.detail.positions !== positions) {
      const nodes = visibleNodes(positions, layer.roles, view, width, height);
      this.detail = { key, roles: layer.roles, positions, num: nodes.length };
      this.detailBuffer = this.#upload(gl.ELEMENT_ARRAY_BUFFER, this.detailBuffer, nodes);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.detailBuffer);
    gl.drawElements(gl.POINTS, this.detail.num, gl.UNSIGNED_INT, 0);
  }

  #bind({ buffers }) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.positionBuffer);
    gl.vertexAttribPointer(0, 2, gl.UNSIGNED_SHORT, true, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.tints);
    gl.vertexAttribPointer(1, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.roles);
    gl.vertexAttribPointer(2, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.edges);
  }

  destroy() { this.gl?.getExtension("WEBGL_lose_context")?.loseContext(); }
}

/** Nodes in a grid of 256 x 256 cells (counting sort, O(n)): the nearest one to a place within a radius. */
export class NodeGrid {
  constructor(positions) {
    const num = positions.length / 2;
    this.positions = positions;
    this.starts = new Uint32Array(65537);
    this.nodes = new Uint32Array(num);
    const cell = (i) => ((positions[2 * i + 1] >> 8) << 8) | (positions[2 * i] >> 8);
    for (let i = 0; i < num; i++) this.starts[cell(i) + 1]++;
    for (let c = 0; c < 65536; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice(0, 65536);
    for (let i = 0; i < num; i++) this.nodes[next[cell(i)]++] = i;
  }

  /** x, y and the radii rx, ry in units of 1/65535 of the square; -1 where no node is near. */
  nearest(x, y, rx, ry) {
    let best = -1;
    let least = 1;
    const cells = (value) => Math.max(0, Math.min(255, Math.floor(value / 256)));
    for (let row = cells(y - ry); row <= cells(y + ry); row++) {
      for (let column = cells(x - rx); column <= cells(x + rx); column++) {
        for (let slot = this.starts[(row << 8) | column]; slot < this.starts[((row << 8) | column) + 1]; slot++) {
          const node = this.nodes[slot];
          const far = ((this.positions[2 * node] - x) / rx) ** 2 + ((this.positions[2 * node + 1] - y) / ry) ** 2;
          if (far < least) { least = far; best = node; }
        }
      }
    }
    return best;
  }
}
