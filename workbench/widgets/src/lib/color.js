// One colour a part, one a phase, one scale for amounts. Categories are Okabe and Ito's, safe for colour-blind readers.

export const PART_COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];

/** The colour of a part (or rank): a variable, so that the dark theme may lighten it; after 8 parts they come again. */
export const partColor = (part) => `var(--wb-part-${((part % 8) + 8) % 8})`;
/** The colour of what serves a rank; of what serves several (below 0) none of theirs. */
export const servedColor = (rank) => (rank >= 0 ? partColor(rank) : "var(--wb-ink2)");
/** Its number behind, for canvas and WebGL: [r, g, b] in 0..255. */
export const partRgb = (part) => rgb(PART_COLORS[((part % 8) + 8) % 8]);
export const phaseColor = (phase) => `var(--wb-phase-${phase.replaceAll("_", "-")})`;

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"].map(rgb);

/** A perceptual scale from dark (0) to light (1): [r, g, b]. */
export function viridisRgb(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const i = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[i].map((low, channel) => Math.round(low + (at - i) * (VIRIDIS[i + 1][channel] - low)));
}
export const viridis = (share) => `rgb(${viridisRgb(share).join(",")})`;
/** Black or white, whichever reads better on a colour. */
export const inkOn = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111418" : "#ffffff");
