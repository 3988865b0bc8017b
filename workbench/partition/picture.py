"""A partition as a picture: bars of what each part has, and the matrix of what parts exchange. Plain SVG."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.core.units import format_count

MAX_DRAWN_PARTS = 64
BAR_WIDTH, ROW, LEFT, GAP = 150, 14, 34, 16
SIDE = 240
_STYLE = "max-width:100%;height:auto;font:11px system-ui,sans-serif;color:inherit"


def draw_partition(bars: Mapping[str, np.ndarray], traffic: np.ndarray | None) -> str:
    """Draw one column of bars a count (a line marks the mean) and the traffic matrix beside; darker is more.

    Colours are the text's own, so the picture reads on light and on dark ground. Beyond 64 parts only the first 64 are
    drawn, and the picture says so.
    """
    num_parts = len(next(iter(bars.values())))
    shown = min(num_parts, MAX_DRAWN_PARTS)
    drawn = [_bars(name, values, shown, LEFT + i * (BAR_WIDTH + GAP)) for i, (name, values) in enumerate(bars.items())]
    width, height = LEFT + len(bars) * (BAR_WIDTH + GAP), 30 + shown * ROW
    if traffic is not None and num_parts > 1:
        drawn.append(_matrix(traffic[:shown, :shown], width + GAP))
        width, height = width + GAP + LEFT + SIDE, max(height, 30 + SIDE)
    if shown < num_parts:
        drawn.append(f'<text x="0" y="{height + 12}" fill="currentColor">first {shown} of {num_parts:,} parts</text>')
        height += 18
    labels = "".join(
        f'<text x="{LEFT - 6}" y="{24 + part * ROW + 10}" text-anchor="end" fill="currentColor">{part}</text>'
        for part in range(shown)
    )
    label = f"{' and '.join(bars)} of {num_parts} parts, and the rows that they exchange a layer"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height}" width="{width}" style="{_STYLE}">'
        f"{labels}{''.join(drawn)}</svg>"
    )


def _bars(name: str, values: np.ndarray, shown: int, left: int) -> str:
    largest, mean = max(int(values.max()), 1), float(values.mean())
    rows = []
    for part, value in enumerate(values[:shown].tolist()):
        top = 24 + part * ROW
        rows.append(
            f'<rect x="{left}" y="{top}" width="{value / largest * BAR_WIDTH:.1f}" height="{ROW - 3}" rx="1.5" '
            f'fill="currentColor" fill-opacity=".35"><title>part {part}: {value:,} {name}</title></rect>'
        )
    place = left + mean / largest * BAR_WIDTH
    path = f"M{place:.1f} 20V{22 + shown * ROW}"
    line = f'<path d="{path}" stroke="currentColor" stroke-opacity=".7" stroke-dasharray="3 2"/>'
    head = f"{name}, mean {format_count(round(mean))}"
    return f'<text x="{left}" y="12" fill="currentColor">{head}</text>{"".join(rows)}{line}'


def _matrix(traffic: np.ndarray, left: int) -> str:
    num, largest = len(traffic), max(int(traffic.max()), 1)
    cell = SIDE / num
    cells = "".join(
        f'<rect x="{left + LEFT + column * cell:.2f}" y="{24 + row * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}" '
        f'fill="currentColor" fill-opacity="{0.06 + 0.84 * rows / largest:.2f}">'
        f"<title>part {row} reads {rows:,} rows of part {column}</title></rect>"
        for row, values in enumerate(traffic.tolist())
        for column, rows in enumerate(values)
        if rows
    )
    place = f'x="{left + LEFT}" y="24" width="{SIDE}" height="{SIDE}"'
    frame = f'<rect {place} fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    head = f"rows a layer, reader down, owner across; most {format_count(largest)}"
    return f'<text x="{left + LEFT}" y="12" fill="currentColor">{head}</text>{cells}{frame}'
