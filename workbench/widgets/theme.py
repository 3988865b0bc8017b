"""Colours and style of what is drawn without a browser; the browser's half is ``src/lib/theme.css``."""

from __future__ import annotations

import functools
from pathlib import Path

PART_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_VIRIDIS = (
    (68, 1, 84),
    (72, 40, 120),
    (62, 73, 137),
    (49, 104, 142),
    (38, 130, 142),
    (31, 158, 137),
    (53, 183, 121),
    (110, 206, 88),
    (181, 222, 43),
    (253, 231, 37),
)


def part_color(part: int) -> str:
    """Return the CSS colour of a part or rank (Okabe and Ito's palette; after 8 parts it comes again)."""
    return f"var(--wb-part-{part % 8}, {PART_COLORS[part % 8]})"


def phase_color(phase: str) -> str:
    """Return the CSS colour of a phase of a step."""
    return f"var(--wb-phase-{phase.replace('_', '-')})"


def viridis(share: float) -> str:
    """Return a colour of the sequential scale, from dark (0) to light (1)."""
    at = min(max(share, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    i = min(int(at), len(_VIRIDIS) - 2)
    mixed = (round(low + (at - i) * (high - low)) for low, high in zip(_VIRIDIS[i], _VIRIDIS[i + 1], strict=True))
    return f"rgb({','.join(map(str, mixed))})"


@functools.cache
def css(name: str = "theme") -> str:
    """Return the text of a built style sheet: the common ``theme``, or a widget's own."""
    return (Path(__file__).parent / "static" / f"{name}.css").read_text(encoding="utf-8")
