// The rows of controls: methods, numbers of parts, seed, colour, width, drawing; and the selected part with the tools of the map.
import { button, chip, el, labelled, numberField, segmented, select } from "../lib/dom.js";
import { partColor } from "../lib/color.js";

const MAX_BUTTONS = 12;
const OFFERED = [2, 4, 8, 16, 32, 64, 128];
const ORDINALS = ["first", "second", "third", "fourth"];

/** Methods side by side: a button each to remove it, a list to add another. */
export function methodChips({ available, methods, canAdd, onChange }) {
  const label = (key) => available.find((one) => one.key === key)?.label ?? key;
  const box = el("div", { class: "pe-chips", role: "group", "aria-label": "Methods side by side" });
  for (const key of methods) {
    box.append(button(`${label(key)} ×`, { label: `Remove ${label(key)}`, hint: available.find((one) => one.key === key)?.summary, disabled: methods.length === 1, onClick: () => onChange(methods.filter((other) => other !== key)) }));
  }
  const rest = available.filter(({ key }) => !methods.includes(key));
  if (rest.length && canAdd) box.append(select("Add a method", [["", "Add…"], ...rest.map((one) => [one.key, one.label])], "", (key) => key && onChange([...methods, key])));
  return box;
}

/** Numbers of parts side by side: a field each, with a button to remove it; a list to compare another. */
export function partCounts({ counts, max, canAdd, onChange }) {
  const box = el("div", { class: "pe-chips", role: "group", "aria-label": "Numbers of parts side by side" });
  counts.forEach((count, i) => {
    const change = (number) => onChange(counts.map((other, j) => (j === i ? number : other)));
    // Any number is asked for: the kernel says what is wrong with one that cannot be.
    box.append(numberField(i ? `Number of parts, ${ORDINALS[i]}` : "Number of parts", count, { min: 2, max, width: "48px", onChange: change, loose: true }));
    if (counts.length > 1) box.append(button("×", { label: `Remove ${count} parts`, kind: "quiet", onClick: () => onChange(counts.filter((_, j) => j !== i)) }));
  });
  const rest = OFFERED.filter((count) => count <= max && !counts.includes(count));
  if (rest.length && canAdd) box.append(select("Compare another number of parts", [["", "Add…"], ...rest.map((count) => [String(count), String(count)])], "", (count) => count && onChange([...counts, Number(count)])));
  return box;
}

/** The widths of the hidden layers: one out of a list, or several in a field; the kernel reads what was typed. */
function widthControls({ cost, choices, on }) {
  const { widths } = cost;
  const one = widths.length === 1 ? String(widths[0]) : "";
  const offered = [...(one ? [] : [["", "several"]]), ...choices.widths.map((width) => [String(width), String(width)])];
  const list = select("Exchanged width", offered, one, (width) => width && on.cost({ widths: [Number(width)] }));
  const shown = widths.join(", ");
  const typed = el("input", { type: "text", "aria-label": "Layer widths", value: shown, placeholder: "256, 64", autocomplete: "off", spellcheck: "false", style: { width: `${Math.min(168, Math.max(84, 24 + 8 * shown.length))}px` } });
  let last = shown;
  const commit = () => { if (typed.value.trim() !== last) { last = typed.value.trim(); on.cost({ widths: last }); } };
  typed.addEventListener("change", commit);
  typed.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); commit(); } else if (event.key === "Escape") typed.value = last = shown; });
  return el("span", { class: "wb-field", title: "numbers in a row that a layer exchanges, 4 bytes each: one width a hidden layer, such as 256, 64" }, list, typed);
}

const field = (text, control) => el("div", { class: "wb-field wb-stacked" }, el("span", { class: "wb-label" }, text), control);

export function settingsRow({ snapshot, look, on }) {
  const { settings, choices, available, facts, cost } = snapshot;
  const { methods, num_parts: counts } = settings;
  const colours = [["part", "part"], ...(facts.has_classes ? [["class", "class"]] : []), ...(facts.has_train ? [["train", "training node"]] : [])];
  return el("div", { class: "pe-controls" },
    field("Methods side by side", methodChips({ available, methods, canAdd: methods.length < choices.max_methods && (methods.length + 1) * counts.length <= choices.max_columns, onChange: (next) => on.settings({ methods: next }) })),
    field("Parts", partCounts({ counts, max: choices.max_parts, canAdd: counts.length < choices.max_counts && methods.length * (counts.length + 1) <= choices.max_columns, onChange: (num_parts) => on.settings({ num_parts }) })),
    labelled("Seed", numberField("Random seed", settings.rng_seed, { min: 0, max: 2147483647, width: "60px", onChange: (rng_seed) => on.settings({ rng_seed }) }), { stacked: true }),
    labelled("Colour nodes by", select("Colour nodes by", colours, look.by, on.by), { stacked: true }),
    field("Layer widths, float32", widthControls({ cost, choices, on })),
    field("Draw", segmented("Draw", [["nodes", "Nodes"], ["quotient", "Quotient graph"]], look.draw, on.draw)),
    button("Partition again", { kind: "pe-again", hint: "Makes the partitions anew and measures their time again", onClick: on.again }));
}

export function selectionRow({ numParts, part, look, canSelect, on }) {
  const parts = Array.from({ length: numParts }, (_, i) => i);
  const key = part === null ? "none" : String(part);
  let choose;
  if (numParts <= MAX_BUTTONS) {
    choose = segmented("Selected part", [...parts.map((i) => [String(i), String(i), `Select part ${i}`]), ["none", "None", "Select no part"]], key, (value) => on.part(value === "none" ? null : Number(value)));
    parts.forEach((i) => choose.children[i].prepend(chip(partColor(i))));
    parts.forEach((i) => choose.children[i].setAttribute("aria-label", `Select part ${i}`));
    choose.lastChild.setAttribute("aria-label", "Select no part");
  } else {
    choose = select("Selected part", [["none", "None"], ...parts.map((i) => [String(i), `part ${i}`])], key, (value) => on.part(value === "none" ? null : Number(value)));
  }
  const cut = el("input", { type: "checkbox", "aria-label": "Show cut edges", checked: look.showCut, onchange: () => on.cut(cut.checked) });
  const find = el("input", { type: "text", "aria-label": "Find a node", placeholder: "id or name", style: { width: "104px" } });
  const commit = () => find.value.trim() && on.find(find.value.trim());
  find.addEventListener("change", commit);
  find.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); commit(); } else if (event.key === "Escape") { find.value = ""; on.find(null); } });
  return el("div", { class: "pe-selection" },
    el("span", { class: "wb-field" }, el("span", { class: "wb-label" }, "Selected part"), choose),
    canSelect ? el("label", { class: "wb-field" }, cut, el("span", {}, "Cut edges")) : null,
    canSelect ? labelled("Find", find) : null,
    canSelect ? el("span", { class: "wb-field pe-tools" },
      segmented("What dragging on a map does", [["move", "Move", "Drag moves the map"], ["lasso", "Lasso", "Drag selects nodes (or hold Shift)"]], look.tool, on.tool),
      button("+", { label: "Zoom in", onClick: () => on.zoom(1.5) }), button("−", { label: "Zoom out", onClick: () => on.zoom(1 / 1.5) }), button("Reset", { label: "Reset the view", onClick: () => on.zoom(0) })) : null);
}

/** The key of what is drawn: marks with their meaning. */
export function key({ part, draw, by, facts }) {
  const mark = (svg, text) => el("span", {}, svg, text);
  const shape = (...parts) => { const node = document.createElementNS("http://www.w3.org/2000/svg", "svg"); node.setAttribute("width", 22); node.setAttribute("height", 12); node.setAttribute("aria-hidden", "true"); node.append(...parts); return node; };
  const make = (tag, attributes) => { const node = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value); return node; };
  const stroke = (width, opacity) => shape(make("line", { x1: 1, x2: 21, y1: 6, y2: 6, stroke: "var(--wb-ink)", "stroke-width": width, opacity }));
  const dot = (r, color, ring) => shape(make("circle", { cx: 11, cy: 6, r, fill: color, ...(ring ? { stroke: "var(--wb-ink)", "stroke-width": 1.4 } : {}) }));
  if (draw === "quotient") return el("div", { class: "pe-key" });
  const marks = [];
  if (by === "class") {
    const names = facts.class_names.length ? facts.class_names : Array.from({ length: facts.num_classes }, (_, i) => `class ${i}`);
    names.slice(0, 8).forEach((name, i) => marks.push(mark(dot(3.2, partColor(i)), name)));
    if (names.length > 8) marks.push(el("span", {}, `and ${names.length - 8} more classes in the same 8 colours`));
  } else if (by === "train") marks.push(mark(dot(3.2, partColor(5)), "training node"), mark(dot(3.2, partColor(7)), "other node"));
  if (part === null) marks.push(mark(stroke(1.2, 0.8), "cut edge"), mark(stroke(0.7, 0.35), "edge inside a part"), el("span", {}, "click a node to select its part"));
  else {
    const color = by === "part" ? partColor(part) : "var(--wb-ink2)";
    const other = by === "part" ? partColor(part + 3) : "var(--wb-ink2)";
    marks.push(mark(dot(2.2, color), `inner node of part ${part}`), mark(dot(4, color), "boundary: inner, read by other parts"),
      mark(dot(3.4, other, true), `halo: owned elsewhere, read by part ${part}`), mark(stroke(1.3, 0.9), `cut edge of part ${part}`), mark(stroke(0.9, 0.3), "other cut edge"));
  }
  return el("div", { class: "pe-key" }, marks);
}
