// Numbers as a person reads them; the same rules as workbench/core/units.py.

const trim = (value, digits = 3) => {
  const text = Number(value.toPrecision(digits));
  return Math.abs(text) >= 1e5 ? text.toLocaleString("en") : String(text);
};

export function count(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 1e7) return Math.round(value).toLocaleString("en");
  for (const [limit, scale, unit] of [[1e9, 1e6, "M"], [1e12, 1e9, "G"], [1e15, 1e12, "T"]]) if (size < limit) return `${trim(value / scale)} ${unit}`;
  return value.toExponential(2);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let size = value;
  let i = 0;
  while (Math.abs(size) >= 1024 && i < units.length - 1) { size /= 1024; i += 1; }
  return i === 0 ? `${Math.round(size)} B` : `${trim(size)} ${units[i]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1e-3) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${trim(value * 1e3)} ms`;
  if (value < 60) return `${trim(value)} s`;
  const all = Math.round(value);
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor((all % 3600) / 60);
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${all % 60} s`;
}

export const milliseconds = (valueS) => (valueS === null || valueS === undefined ? "–" : Math.round(valueS * 1000).toLocaleString("en"));
export const percent = (ratio, digits = 0) => (ratio === null || ratio === undefined ? "–" : `${(100 * ratio).toFixed(digits)}%`);
export const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
export const clock = (unixS) => new Date(unixS * 1000).toTimeString().slice(0, 8);
/** 1736 -> "1,736", 0.8421 -> "0.842": three digits that matter. */
export const number = (value, digits = 3) => {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : trim(value, digits);
};
/** Short labels for axis ticks: 2000 -> "2k". */
export function tick(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}G`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4 || (size >= 1e3 && value % 100 === 0)) return `${trim(value / 1e3)}k`;
  return String(Number(value.toPrecision(6)));
}
