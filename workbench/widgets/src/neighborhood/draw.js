// Small means of drawing: text that fits, labels that do not touch, paths, items that the keyboard reaches.
import { svg } from "../lib/dom.js";

const context = document.createElement("canvas").getContext("2d");
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** The width of 11 px text in pixels. */
export function textWidth(words, bold = false) {
  context.font = `${bold ? "600 " : ""}${FONT}`;
  return context.measureText(words).width;
}

/** Cuts text to a width, with an ellipsis. */
export function fit(words, width, bold = false) {
  if (textWidth(words, bold) <= width) return words;
  let end = words.length;
  while (end > 2 && textWidth(`${words.slice(0, end)}…`, bold) > width) end -= 1;
  return `${words.slice(0, end)}…`;
}

/** Moves labels ({y, ...}) apart until they are `gap` from each other, within two bounds; returns them sorted. */
export function spread(labels, gap, low, high) {
  labels.sort((a, b) => a.y - b.y);
  for (let round = 0; round < 40; round += 1) {
    for (let i = 1; i < labels.length; i += 1) {
      const lack = gap - (labels[i].y - labels[i - 1].y);
      if (lack > 0) { labels[i].y += lack / 2; labels[i - 1].y -= lack / 2; }
    }
  }
  for (const label of labels) label.y = Math.max(low, Math.min(high, label.y));
  for (let i = labels.length - 2; i >= 0; i -= 1) labels[i].y = Math.min(labels[i].y, labels[i + 1].y - gap);
  return labels;
}

const join = (points) => points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
/** A line through points in pixels. */
export const stroke = (points, color, attributes = {}) =>
  svg("path", { d: `M${join(points)}`, fill: "none", stroke: color, "stroke-width": 2, "stroke-linejoin": "round", ...attributes });
/** The area between two lines over the same places. */
export const wedge = (upper, lower, color) => svg("path", { d: `M${join(upper)}L${join([...lower].reverse())}Z`, fill: color, opacity: 0.1 });
export const tip = (words) => svg("title", {}, words);

/**
 * One tab stop for a group of items: arrow keys move, Home and End too, Enter or Space or a click activates.
 * `items` are SVG groups; `onFocus(item)` hears where the focus or the pointer is.
 */
export function reachable(items, { activate, onFocus }) {
  items.forEach((item, i) => {
    item.setAttribute("tabindex", i === 0 ? "0" : "-1");
    item.setAttribute("role", "button");
    item.addEventListener("click", () => activate(item));
    if (onFocus) {
      item.addEventListener("mouseenter", () => onFocus(item));
      item.addEventListener("focus", () => onFocus(item));
    }
    item.addEventListener("keydown", (event) => {
      const step = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: items.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") activate(item);
      else if (step === undefined) return;
      else if (items[step]) { item.setAttribute("tabindex", "-1"); items[step].setAttribute("tabindex", "0"); items[step].focus(); }
      event.preventDefault();
      event.stopPropagation();
    });
  });
}
