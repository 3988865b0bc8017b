// Small helpers for the DOM: elements, labelled controls, tables. Text is always text, never HTML.

const SVG_NS = "http://www.w3.org/2000/svg";

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style" && typeof value === "object") for (const [key, part] of Object.entries(value)) node.style.setProperty(key, part);
    else if (["value", "checked", "disabled", "open"].includes(name) && name in node) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
}

/** el("td", {class: "num", title: "..."}, "text", node, ...): strings become text nodes, null children are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** The same for SVG elements. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NS, tag);
  setAttributes(node, attributes);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

let lastId = 0;

/** A control with its visible label in front (or above, with `stacked`). */
export function labelled(text, control, { hint, stacked } = {}) {
  const id = `wb-${Date.now().toString(36)}-${++lastId}`;
  control.id ||= id;
  if (!control.getAttribute("aria-label")) control.setAttribute("aria-label", text);
  return el("label", { class: stacked ? "wb-field wb-stacked" : "wb-field", for: control.id, title: hint }, el("span", { class: "wb-label" }, text), control);
}

/** select("Method", [["metis", "METIS"], ...], "metis", onChange): a list of choices. */
export function select(label, options, value, onChange) {
  const node = el("select", { "aria-label": label, onchange: () => onChange?.(node.value) },
    options.map((option) => { const [key, text] = Array.isArray(option) ? option : [option, option]; return el("option", { value: key, selected: key === value }, text); }));
  node.value = value;
  return node;
}

/** A number field that tells only values inside its range (`loose`: any number); Enter or leaving the field is a change. */
export function numberField(label, value, { min, max, step = 1, onChange, width = "72px", loose = false } = {}) {
  const node = el("input", { type: "number", "aria-label": label, value, min, max, step, style: { width } });
  let last = Number(value);
  const commit = () => {
    const number = Number(node.value);
    const known = node.value !== "" && Number.isFinite(number);
    const valid = known && node.checkValidity();
    node.setAttribute("aria-invalid", String(!valid));
    if (!(loose ? known : valid) || number === last) return;
    last = number;
    onChange?.(number);
  };
  node.addEventListener("change", commit);
  node.addEventListener("keydown", (event) => event.key === "Enter" && commit()); // a notebook may swallow the change
  return node;
}

/** A slider with its value beside it; `onInput` while it moves, `onChange` when it is let go. */
export function slider(label, value, { min, max, step = 1, format = String, onInput, onChange } = {}) {
  const shown = el("output", {}, format(value));
  const node = el("input", { type: "range", "aria-label": label, min, max, step, value });
  node.addEventListener("input", () => { shown.textContent = format(Number(node.value)); onInput?.(Number(node.value)); });
  node.addEventListener("change", () => onChange?.(Number(node.value)));
  const box = el("span", { class: "wb-slider" }, node, shown);
  box.input = node;
  return box;
}

/** segmented("Colour by", [["part", "Part"], ["degree", "Degree"]], "part", onChange): one of a few, arrow keys move. */
export function segmented(label, options, value, onChange) {
  const box = el("div", { class: "wb-segments", role: "radiogroup", "aria-label": label });
  const choose = (key, tell) => {
    for (const button of box.children) {
      const on = button.dataset.key === key;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    }
    if (tell) onChange?.(key);
  };
  for (const [key, text, hint] of options) {
    box.append(el("button", { type: "button", role: "radio", "data-key": key, title: hint, onclick: () => choose(key, true) }, text));
  }
  box.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = [...box.children];
    const next = buttons[(buttons.findIndex((button) => button.getAttribute("aria-checked") === "true") + by + buttons.length) % buttons.length];
    choose(next.dataset.key, true);
    next.focus();
  });
  choose(value, false);
  box.choose = (key) => choose(key, false);
  return box;
}

export function button(text, { label, onClick, kind = "", disabled = false, hint } = {}) {
  return el("button", { type: "button", class: kind, "aria-label": label ?? text, title: hint, disabled, onclick: onClick }, text);
}

/** table(["Kind", {text: "Bytes", num: true, title: "..."}], [[cell, cell], ...], {label}): cells are text or nodes. */
export function table(heads, rows, { label, className = "" } = {}) {
  const columns = heads.map((head) => (typeof head === "string" ? { text: head } : head));
  const cell = (value, column) => (value instanceof Node && ["TD", "TH"].includes(value.nodeName) ? value : el("td", { class: column?.num ? "num" : null }, value ?? ""));
  return el("table", { class: className, "aria-label": label },
    el("thead", {}, el("tr", {}, columns.map((column) => el("th", { class: column.num ? "num" : null, title: column.title, style: column.width ? { width: column.width } : null, scope: "col" }, column.text)))),
    el("tbody", {}, rows.map((row) => (row instanceof Node ? row : el("tr", {}, row.map((value, i) => cell(value, columns[i])))))));
}

/** A box that says what went wrong, in its own words and lines. */
export const errorBox = (text) => el("div", { class: "wb-error", role: "alert" }, el("pre", {}, text));

/** A line of progress with a button that cancels: busy.show(fraction, text), busy.hide(). */
export function busyLine(onCancel) {
  const bar = el("i");
  const text = el("span", { role: "status" });
  const node = el("div", { class: "wb-busy", hidden: true }, el("span", { class: "wb-bar" }, bar), text, onCancel ? button("Cancel", { onClick: onCancel, kind: "quiet" }) : null);
  return {
    node,
    show(fraction, words = "") { node.hidden = false; bar.style.width = `${(100 * fraction).toFixed(0)}%`; text.textContent = words; },
    hide() { node.hidden = true; },
  };
}

/** A small square in a colour: beside a name, so that no name is known by colour alone. */
export const chip = (color, { outlined = false } = {}) => el("i", { class: outlined ? "wb-chip wb-outlined" : "wb-chip", style: { "--c": color } });

/** Returns `work` delayed until no call came for `ms`. */
export function debounce(work, ms) {
  let timer = 0;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => work(...args), ms); };
}
