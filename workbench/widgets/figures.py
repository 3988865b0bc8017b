"""Pictures without scripts: HTML and SVG for saved notebooks, drawn as the widgets draw in the browser."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from workbench.widgets.theme import css

Point = tuple[float, float | None]
_STEPS = (1, 2, 2.5, 5, 10)


def text_of(value: object) -> str:
    """Return a value as HTML text; labels from data never become markup."""
    return html.escape(str(value))


def figure(body: str, *, label: str, style: str = "") -> str:
    """Wrap a picture in the common style; `style` names a widget's own sheet in ``static/``."""
    own = css(style) if style else ""
    return f'<section class="wb wb-static" aria-label="{text_of(label)}"><style>{css()}{own}</style>{body}</section>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, label: str, num: Iterable[int] = ()) -> str:
    """Return a table of HTML cells; the columns in `num` hold numbers and are set to the right."""
    right = set(num)

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{' class=num' if i in right else ''}>{cell}</{tag}>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = cells("th", [text_of(name) for name in heads])
    return f'<table aria-label="{text_of(label)}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def bar(share: float | None, color: str, *, tick: float | None = None) -> str:
    """Return a bar of a share (0 to 1) of its width, with a tick where something was expected."""
    width = 0 if share is None else 100 * min(max(share, 0.0), 1.0)
    mark = "" if tick is None else f'<u style="left:{100 * tick:.1f}%"></u>'
    return f'<span class="wb-bar"><i style="width:{width:.1f}%;background:{color}"></i>{mark}</span>'


def chip(color: str, *, outlined: bool = False) -> str:
    """Return a small square in a colour."""
    return f'<i class="wb-chip{" wb-outlined" if outlined else ""}" style="--c:{color}"></i>'


def _round_step(low: float, high: float, count: int) -> float:
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in _STEPS if factor * power >= raw * 0.999)


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return about `count` round values between two numbers, ends included."""
    if not high > low:
        return [low]
    step = _round_step(low, high, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def nice_range(values: Iterable[float | None], *, zero: bool = False, count: int = 4) -> tuple[float, float]:
    """Return the range that ends on round ticks and holds every finite value (and 0 where asked)."""
    finite = [value for value in values if value is not None and math.isfinite(value)] + ([0.0] if zero else [])
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if high == low:
        if zero or low == 0:
            return min(0.0, low), max(low, 0.0) or 1.0
        low, high = low - abs(low) * 0.1, high + abs(high) * 0.1
    step = _round_step(low, high, count)
    return float(f"{math.floor(low / step + 1e-9) * step:.12g}"), float(f"{math.ceil(high / step - 1e-9) * step:.12g}")


def tick_text(value: float) -> str:
    """``2000 -> '2k'``: short labels for axes."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{value / 1e3:.3g}k" if abs(value) >= 1e3 and value % 100 == 0 else f"{value:.6g}"


def svg_text(x: float, y: float, words: object, *, anchor: str = "start", cls: str = "", fill: str = "") -> str:
    """Return a text of an SVG picture."""
    look = (f' class="{cls}"' if cls else "") + (f' style="fill:{fill}"' if fill else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{text_of(words)}</text>'


def svg_line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = "var(--wb-grid)", dash: str = "") -> str:
    """Return a straight, crisp line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} style="stroke:{stroke}"{dashes} shape-rendering="crispEdges"/>'


def picture(width: float, height: float, label: str, body: str) -> str:
    """Return an SVG picture with an accessible name."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{text_of(label)}">{body}</svg>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart; a null value lifts the pen. `label` stands at its end, `dots` marks each point."""

    points: Sequence[Point]
    color: str = "var(--wb-ink)"
    label: str = ""
    dots: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A line chart: ranges in data units, titles with units.

    ``band`` holds (x, low, high), ``marks`` vertical lines (x, text, colour), ``margin`` top, right, bottom, left,
    ``note`` a text for its middle.
    """

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_title: str
    y_title: str
    label: str
    width: float = 288
    height: float = 128
    lines: Sequence[Line] = ()
    band: Sequence[tuple[float, float, float]] = ()
    marks: Sequence[tuple[float, str, str]] = ()
    note: str = ""
    margin: tuple[float, float, float, float] = field(default=(20, 8, 22, 40))

    def x(self, value: float) -> float:
        (low, high), left = self.x_range, self.margin[3]
        return left + (value - low) / ((high - low) or 1) * (self.width - left - self.margin[1])

    def y(self, value: float) -> float:
        (low, high), top = self.y_range, self.margin[0]
        return top + (1 - (value - low) / ((high - low) or 1)) * (self.height - top - self.margin[2])

    def svg(self) -> str:
        """Draw it."""
        return picture(self.width, self.height, self.label, self._drawn())

    def _drawn(self) -> str:
        middle = svg_text(self.width / 2, self.height / 2, self.note, anchor="middle") if self.note else ""
        return self._axes() + self._band() + self._marks() + self._lines() + middle

    def _axes(self) -> str:
        left, right, base = self.margin[3], self.width - self.margin[1], self.height - self.margin[2]
        drawn = [svg_text(0, 9, self.y_title)]
        for value in ticks(*self.y_range):
            drawn.append(svg_line(left, self.y(value), right, self.y(value)))
            drawn.append(svg_text(left - 6, self.y(value) + 4, tick_text(value), anchor="end"))
        drawn.append(svg_line(left, base, right, base, stroke="var(--wb-line)"))
        room = len(self.x_title) * 6 + 12  # the title takes the place of ticks that it would cover
        for value in ticks(*self.x_range, max(2, min(8, int((self.width - left) / 52)))):
            drawn.append(svg_line(self.x(value), base, self.x(value), base + 4, stroke="var(--wb-line)"))
            if self.x(value) < right - room:
                drawn.append(svg_text(self.x(value), base + 16, tick_text(value), anchor="middle"))
        drawn.append(svg_text(right, base + 16, self.x_title, anchor="end"))
        return "".join(drawn)

    def _band(self) -> str:
        if not self.band:
            return ""
        there = [f"{self.x(x):.1f} {self.y(high):.1f}" for x, _, high in self.band]
        back = [f"{self.x(x):.1f} {self.y(low):.1f}" for x, low, _ in reversed(self.band)]
        return f'<path d="M{"L".join(there + back)}Z" style="fill:var(--wb-ink2);stroke:var(--wb-ink2)" opacity=".3"/>'

    def _marks(self) -> str:
        top, base = self.margin[0], self.height - self.margin[2]
        return "".join(
            svg_line(self.x(x), top, self.x(x), base, stroke=color, dash="2 2")
            + (svg_text(self.x(x) + 6, top + 10, words) if words else "")
            for x, words, color in self.marks
        )

    def _lines(self) -> str:
        drawn = []
        for line in self.lines:
            path = f'<path d="{self.path(line.points)}" fill="none" style="stroke:{line.color}"'
            drawn.append(path + ' stroke-width="1.5" stroke-linejoin="round"/>')
            known = [(x, y) for x, y in line.points if y is not None and math.isfinite(y)]
            if line.dots:
                dot = '<circle cx="{:.1f}" cy="{:.1f}" r="3" style="fill:{}"/>'
                drawn += [dot.format(self.x(x), self.y(y), line.color) for x, y in known]
        return "".join(drawn) + self._labels()

    def _labels(self) -> str:
        """Write the labels at the ends of the lines, from top to bottom, apart from each other."""
        ends = []
        for line in self.lines:
            known = [(x, y) for x, y in line.points if y is not None and math.isfinite(y)]
            if line.label and known:
                ends.append((self.y(known[-1][1]), self.x(known[-1][0]), line.label))
        drawn, lowest = [], -math.inf
        for i, (y, x, label) in enumerate(sorted(ends)):
            late = x > self.width - 12 - 7 * len(label)
            above = (late and i < len(ends) - 1) or (late and len(ends) == 1)
            at = max(y + (-8 if above else 16 if late else 4), lowest + 12)
            place = (self.width - self.margin[1], "end") if late else (x + 6, "start")
            drawn.append(svg_text(place[0], at, label, anchor=place[1], cls="lbl" if i == 0 else "ink"))
            lowest = at
        return "".join(drawn)

    def path(self, points: Iterable[Point]) -> str:
        """Return the SVG path through points; a null value lifts the pen."""
        drawn, pen = [], False
        for x, y in points:
            if y is None or not math.isfinite(y):
                pen = False
                continue
            drawn.append(f"{'L' if pen else 'M'}{self.x(x):.1f} {self.y(y):.1f}")
            pen = True
        return "".join(drawn)
