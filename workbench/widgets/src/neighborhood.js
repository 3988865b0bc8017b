// The neighbourhood explorer: what a batch reads, hop by hop. The numbers come from neighborhood_explorer.py.
import { CancelledError } from "./lib/connection.js";
import { button, el, errorBox } from "./lib/dom.js";
import { defineWidget } from "./lib/widget.js";
import { buildControls } from "./neighborhood/controls.js";
import { chosen, foresee } from "./neighborhood/foresight.js";
import { growthPicture, sharePicture } from "./neighborhood/growth.js";
import { facts, reachWords, reachedHubs, remark, sentence, statusLine } from "./neighborhood/head.js";
import { hubsPicture, saturationPicture, sizesPicture } from "./neighborhood/seeds.js";
import css from "./neighborhood/style.css";
import { accessCells, definitions, hopTables, memoryPicture, partCells } from "./neighborhood/tables.js";
import { treeSummary, treeView } from "./neighborhood/tree.js";
import { bytes, hops, int, plural, share, short } from "./neighborhood/words.js";

const NARROW = 720;
const ALL_PARTS = ["head", "tree", "reach", "sizes", "saturation", "hubs", "access", "parts", "component"];

/** A section with a title, a line under it, and a place for its picture. */
function section(title, sub = "") {
  const under = el("div", { class: "nx-sub" }, sub);
  const body = el("div", { class: "nx-picture" });
  const heading = el("h3", {}, title);
  return { node: el("section", { class: "nx-section" }, heading, under, body), heading, under, body };
}

function layout(model) {
  const at = {
    status: el("div", { class: "nx-status", role: "status" }),
    say: el("p", { class: "nx-say" }),
    remark: el("p", { class: "nx-sub nx-remark" }),
    trouble: el("div", {}),
    facts: el("div", { class: "nx-facts" }),
    growth: section("Growth per hop"),
    share: section("Share of the graph reached", "unique nodes within the hop ÷ all nodes"),
    tables: el("div", { class: "nx-tables" }),
    memory: section("Memory for the features of one batch"),
    tree: section("Sampled computation tree"),
    sizes: section("Size of the whole 2-hop neighbourhood", "random seeds one by one, all neighbours; click a bar to take a seed from it"),
    saturation: section("Unique nodes against batch size", "random seeds"),
    hubs: section("Hubs that do it", "mean neighbourhood of one random seed when these nodes are reached but not expanded"),
    access: section("Irregular access", "how unevenly the graph is read, and what that does to caches and threads"),
    words: el("dl", {}),
  };
  at.reached = el("div", { class: "nx-row nx-reached" });
  at.parts = { body: el("div", { class: "nx-parts" }) };
  at.top = el("div", { class: "nx-top" }, el("h2", {}, "Neighbourhood explorer"), at.status);
  at.about = el("div", { class: "nx-sub" });
  return at;
}

/** Turns what a person does into questions to the kernel, and shows what came of them. */
function asker({ connection, model, at, redraw }) {
  const say = (text) => {
    model.trouble = text;
    at.trouble.replaceChildren(...(text ? [errorBox(text)] : []));
    redraw("head");
  };
  const fail = (error) => { if (!(error instanceof CancelledError)) say(error.message); };
  const explore = (changes) => {
    if ("nodes" in changes || "choice" in changes) delete model.asked.node;
    const asked = model.asked = { ...model.asked, ...changes }; // a question that replaces another one carries its changes
    foresee(model);
    if (model.preview || model.settings !== model.told) drawAnswer(model, at);
    redraw("head");
    const settled = () => {
      if (model.asked !== asked) return; // a newer change is under way
      model.asked = {};
      foresee(model);
      redraw("head");
    };
    return connection.ask("explore", asked).finally(settled).then(answered).catch(fail);
  };
  const answered = (answer) => {
    if (!answer.problem) { say(""); return; }
    say(answer.problem);
    model.controls.refuse();
    if (answer.suggestion) at.trouble.firstChild.append(el("p", { class: "nx-suggestion" }, "Did you mean ", button(answer.suggestion, { onClick: () => explore({ node: answer.suggestion }), kind: "nx-small" }), "?"));
  };
  return {
    say,
    explore,
    takeSeed: (node) => explore({ nodes: [node], choice: "node" }),
    drawAgain: () => connection.ask("tree", { draw: (model.tree?.draw ?? 0) + 1 }).catch(fail),
    cancel: () => connection.command("cancel").catch(fail),
  };
}

function aboutWords(graph) {
  const reads = graph.symmetric ? "undirected: every edge stands in both directions" : "a node reads its in-neighbours";
  return `${graph.name}, ${reads}, ${graph.num_features ? `${int(graph.num_features)} × float32 features` : "no features"}`;
}

/** What answers a person's change; it comes before all pictures. */
function drawAnswer(model, at) {
  model.estimated = model.status !== "exact";
  at.line.show(model);
  model.controls.show(chosen(model));
  if (!model.result) return;
  const said = el("p", {}, ...sentence(model.preview ? { ...model, ...model.preview, estimated: true } : model));
  if (said.textContent !== at.say.textContent) at.say.replaceChildren(...said.childNodes);
  at.remark.textContent = remark(model);
}

function drawHead(model, at, ask, width) {
  const { result, settings, graph } = model;
  at.about.textContent = aboutWords(graph);
  if (!result) return;
  const depth = settings.depth;
  const ratio = result.all.slots[depth] / Math.max(result.all.nodes[depth], 1);
  at.growth.under.textContent = `At hop ${depth} the tree holds ${plural(result.all.slots[depth], "slot").replace(/^\S+/, short(result.all.slots[depth]))} over ${model.estimated ? "≈ " : ""}${int(result.all.nodes[depth])} nodes: without sharing each would be read ${ratio >= 100 ? int(ratio) : ratio.toFixed(1)} times`;
  const stacked = width < NARROW;
  const main = stacked ? width : Math.floor((width - 32) * 1.9 / 2.9);
  at.growth.body.replaceChildren(growthPicture(main, model));
  at.share.body.replaceChildren(sharePicture(stacked ? width : width - 32 - main, { ...model, stacked }));
  at.tables.replaceChildren(...hopTables(model));
  at.memory.node.hidden = !graph.row_bytes;
  at.memory.under.textContent = `unique nodes × ${bytes(graph.row_bytes).replace(".0 ", " ")}, and what fetching every tree slot would cost`;
  if (graph.row_bytes) at.memory.body.replaceChildren(memoryPicture(width, model));
  at.words.replaceChildren(...definitions(model));
}

function drawTree(model, at, ask, width) {
  const tree = model.tree;
  if (!tree) return;
  const nodes = () => [...at.tree.body.querySelectorAll(".nx-node")];
  const focused = nodes().indexOf(document.activeElement);
  const sameRoot = model.drawnTree?.node === tree.node;
  if (model.drawnTree !== tree) {
    model.drawnTree = tree;
    model.treeView = treeView(at.tree.body, tree, { onSeed: ask.takeSeed });
    at.tree.heading.textContent = `Sampled computation tree of ${tree.names[tree.node]}`;
    at.tree.under.textContent = treeSummary(tree);
  }
  model.treeView.redraw(width);
  if (focused >= 0) nodes()[sameRoot ? focused : 0]?.focus(); // a redrawn tree keeps the reader's place
}

/** At which hop the graph is reached, and when each hub comes in. */
function drawReach(model, at, ask) {
  const found = model.details.reach;
  at.share.under.textContent = found && !found.error ? reachWords(found, model.graph) : "unique nodes within the hop ÷ all nodes";
  at.reached.replaceChildren(...(found && !found.error && found.hubs.length ? [el("span", { class: "nx-sub" }, "The largest hubs, and the hop at which these seeds reach them:"), ...reachedHubs(found, ask.takeSeed)] : []));
}

/** The sections that come later: each shows its picture, its error, or that it is being measured. */
function drawDetail(name, model, at, ask, width) {
  const found = model.details[name];
  const place = at[name].body;
  const half = width < NARROW ? width : Math.floor((width - 32) / 2);
  if (!found && model.stopped) place.replaceChildren(el("p", { class: "nx-sub nx-stopped" }, "not measured "), button("Measure", { onClick: () => ask.explore({}), kind: "nx-small" }));
  else if (!found) place.replaceChildren(el("p", { class: "nx-sub nx-waiting" }, "being measured …"));
  else if (found.error) place.replaceChildren(errorBox(found.error));
  else if (name === "sizes") {
    const sure = found.mean_error === null ? "" : `; mean ${int(found.mean)}${found.mean_error ? ` ± ${int(found.mean_error)} (95%)` : ""} over all ${int(found.num_population)} nodes`;
    at.sizes.under.textContent = `${plural(found.num_seeds, "random seed")}, all neighbours${sure}; click a bar to take a seed from it`;
    place.replaceChildren(sizesPicture(half, found, ask.takeSeed));
  } else if (name === "saturation") {
    at.saturation.under.textContent = `random seeds; mean of ${plural(found.num_orders, "batch", "batches")} a size, ${int(found.num_batches)} where sampled${model.settings.choice === "random" ? "" : "; a ring marks the chosen seeds"}`;
    if (model.result && found.all.length > model.settings.depth) place.replaceChildren(saturationPicture(half, found, model));
  } else if (name === "hubs") place.replaceChildren(hubsPicture(width, found));
  else if (name === "parts") place.replaceChildren(...(model.details.access && !model.details.access.error ? [el("div", { class: "nx-cells nx-half" }, partCells(found, model.details.access))] : []));
  else place.replaceChildren(el("div", { class: "nx-cells" }, accessCells(found, model.graph)));
}

export default defineWidget({
  label: "Neighbourhood explorer",
  css,
  build({ root, connection, width, guard }) {
    const model = { ...connection.snapshot, busy: {}, trouble: "", asked: {} };
    model.told = model.settings;
    const at = layout(model);
    let room = width;
    const dirty = new Set(ALL_PARTS);
    let frame = 0;
    let timer = 0;
    const wait = () => { root.dataset.status = Object.keys(model.asked).length ? "asked" : "drawing"; }; // until the pictures say the same
    const draw = () => {
      if (!dirty.size) return;
      if (dirty.has("head")) drawAnswer(model, at);
      wait();
      timer ||= setTimeout(() => { timer = 0; guard(drawRest); });
    };
    const drawRest = () => {
      if (dirty.has("head")) {
        drawAnswer(model, at); // again: what came since would be marked as drawn, and never be
        drawHead(model, at, ask, room);
      }
      if (dirty.has("head") || dirty.has("component")) at.facts.replaceChildren(...facts(model));
      if (dirty.has("tree")) drawTree(model, at, ask, room);
      if (dirty.has("reach")) drawReach(model, at, ask);
      if (dirty.has("access")) dirty.add("parts");
      for (const name of ["sizes", "hubs", "access", "parts", "saturation"]) if (dirty.has(name)) drawDetail(name, model, at, ask, room);
      dirty.clear();
      root.dataset.status = Object.keys(model.asked).length ? "asked" : model.status;
      root.dataset.depth = model.settings.depth;
    };
    const redraw = (...parts) => {
      parts.forEach((part) => dirty.add(part));
      wait();
      frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
    };
    const ask = asker({ connection, model, at, redraw });
    model.controls = buildControls({ settings: model.settings, graph: model.graph, onChange: ask.explore });
    at.line = statusLine({ onCancel: ask.cancel, onAgain: () => ask.explore({}) });
    at.status.append(...at.line.nodes);
    root.classList.add("nx");
    at.tree.node.classList.add("nx-tree");
    at.tree.node.prepend(el("div", { class: "nx-action" }, button("Draw again", { label: "Draw another sample of the tree", onClick: ask.drawAgain, kind: "nx-small" })));
    at.hubs.node.append(at.reached);
    at.access.node.append(at.parts.body);
    root.append(
      at.top, at.about, at.say, at.remark, at.trouble, at.facts, model.controls.node,
      el("div", { class: "nx-main" }, at.growth.node, at.share.node), at.tables, at.memory.node, at.tree.node,
      el("div", { class: "nx-two" }, at.sizes.node, at.saturation.node), at.hubs.node, at.access.node,
      el("details", { class: "nx-words" }, el("summary", {}, "What the numbers mean"), at.words),
    );
    model.controls.show(model.settings);
    ask.explore({});
    return {
      update(snapshot) { Object.assign(model, snapshot); model.told = snapshot.settings; foresee(model); ALL_PARTS.forEach((part) => dirty.add(part)); },
      delta(body) {
        for (const name of ["status", "tree", "result"]) if (body[name]) model[name] = body[name];
        if (body.settings) {
          model.told = body.settings;
          foresee(model);
          drawAnswer(model, at);
          wait();
        }
        if (body.tree) dirty.add("tree");
        if (body.settings || body.status || body.result) ["head", "saturation"].forEach((part) => dirty.add(part));
        if (body.stopped !== undefined && body.stopped !== model.stopped) {
          model.stopped = body.stopped;
          ["sizes", "hubs", "access", "parts"].forEach((part) => dirty.add(part));
        }
        if (body.trouble) ask.say(body.trouble);
        if (body.busy) { Object.assign(model.busy, body.busy); dirty.add("head"); }
        for (const [name, value] of Object.entries(body.details ?? {})) {
          model.details[name] = value;
          dirty.add(name);
          if (name === "component" && value.symmetric !== undefined) { model.graph.symmetric = value.symmetric; dirty.add("head"); }
        }
      },
      resize(now) { room = now; ALL_PARTS.forEach((part) => dirty.add(part)); },
      draw,
      destroy() { cancelAnimationFrame(frame); clearTimeout(timer); },
    };
  },
});
