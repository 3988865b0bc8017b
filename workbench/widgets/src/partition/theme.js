// The colours of the theme as numbers, for canvas and WebGL; and a watch over changes of the theme.
import { PART_COLORS } from "../lib/color.js";

/** Resolves a CSS colour to [r, g, b] in 0..1 and an opacity. */
function parse(text, fallback) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = fallback;
  pen.fillStyle = text.trim() || fallback;
  const value = pen.fillStyle;
  if (value.startsWith("#")) return [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16) / 255);
  return value.match(/[\d.]+/g).slice(0, 3).map((part) => Number(part) / 255);
}

export function readTheme(root) {
  const style = getComputedStyle(root);
  const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const ground = read("--wb-bg", "#ffffff");
  const [r, g, b] = parse(ground, "#ffffff");
  const dark = 0.299 * r + 0.587 * g + 0.114 * b < 0.5;
  const ink = parse(dark ? "#e6edf3" : "#1f2328", "#000000");
  const palette = [...PART_COLORS.map((color, part) => parse(read(`--wb-part-${part}`, color), color)), dark ? [0.35, 0.38, 0.42] : [0.78, 0.8, 0.82], ink];
  return { dark, ink, palette, ground, text: read("--wb-ink", "#1f2328"), ink2: read("--wb-ink2", "#57606a"), line: read("--wb-line", "#d0d7de"), accent: read("--wb-accent", "#1976d2") };
}

/** Calls `changed` when the page's theme does; returns the function that ends it. */
export function watchTheme(changed) {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  return () => observer.disconnect();
}
