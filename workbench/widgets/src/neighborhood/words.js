// Numbers and phrases of the neighbourhood explorer, as short as a person reads them.

export const int = (value) => Math.round(value).toLocaleString("en-US");

/** 29433 -> "29,433", 368512 -> "369 k", 1.17e7 -> "11.7 M". */
export function short(value) {
  if (value < 1e5) return int(value);
  if (value < 999_500) return `${(value / 1e3).toFixed(0)} k`;
  for (const [limit, scale, unit] of [[999.5e6, 1e6, "M"], [999.5e9, 1e9, "G"], [999.5e12, 1e12, "T"]]) {
    if (value < limit) return `${(value / scale).toPrecision(3)} ${unit}`;
  }
  return value.toExponential(1).replace("e+", "e");
}

/** The name of a power of ten on an axis. */
export function decade(power) {
  if (power < 4) return int(10 ** power);
  const unit = ["", "k", "M", "G", "T", "P", "E"][Math.floor(power / 3)];
  return unit === undefined ? `1e${power}` : `${10 ** (power % 3)} ${unit}`;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let size = value;
  let i = 0;
  while (size >= 1024 && i < units.length - 1) { size /= 1024; i += 1; }
  if (i === 0) return `${Math.round(size)} B`;
  return `${size >= 99.5 ? size.toFixed(0) : size.toPrecision(size >= 10 ? 3 : 2)} ${units[i]}`;
}

export function share(ratio) {
  const percent = 100 * ratio;
  if (percent >= 9.95) return `${percent.toFixed(0)}%`;
  if (percent >= 0.1) return `${percent.toFixed(1)}%`;
  if (percent === 0) return "0%";
  return percent < 0.01 ? "<0.01%" : `${percent.toFixed(2)}%`;
}

export const times = (ratio) => (ratio >= 1000 ? `${int(ratio)} ×` : ratio >= 9.95 ? `${ratio.toFixed(0)} ×` : `${ratio.toFixed(1)} ×`);
export const hops = (count) => (count === 1 ? "1 hop" : `${count} hops`);
export const fanouts = (list) => `(${list.map((fanout) => (fanout < 0 ? "all" : fanout)).join(", ")})`;
export const plural = (count, one, many = `${one}s`) => `${int(count)} ${count === 1 ? one : many}`;

/** 50 -> "50th", 1 -> "1st". */
export function ordinal(number) {
  const tens = Math.floor(number) % 100;
  const suffix = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][Math.floor(number) % 10] ?? "th");
  return `${number}${suffix}`;
}
