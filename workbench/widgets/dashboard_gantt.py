"""The timeline of the last steps as a picture without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.units import format_seconds
from workbench.widgets.figures import picture, svg_line, svg_text, text_of, ticks
from workbench.widgets.theme import part_color, phase_color

LEFT, RIGHT = 112.0, 84.0


def gantt(view: Mapping[str, Any], width: float) -> str:
    """Return the lanes of ranks and samplers over the last steps, with the key of the phases."""
    if not view["steps"]:
        return "<p>No step finished yet.</p>"
    places, base = _places(view["lanes"])
    end = view["start_s"] + view["length_s"]
    start = min(min(step["from"] for step in view["steps"].values()), end - 1e-6)

    def x(time_s: float) -> float:
        return LEFT + (width - LEFT - RIGHT) * (time_s - start) / (end - start)

    drawn = [_HATCH, _axis(x, start, end, base, width, view["outdated"])]
    for name, step in view["steps"].items():
        drawn.append(svg_line(x(step["from"]), 4, x(step["from"]), base, stroke="var(--wb-line)"))
        drawn.append(svg_text(x(step["from"]) + 4, 11, f"step {int(name):,}"))
    drawn.append(svg_text(width - RIGHT + 12, 11, "of this time"))
    for lane, (top, height) in zip(view["lanes"], places, strict=True):
        drawn.append(_lane(lane, top, height, width))
    used: set[int] = set()
    for name, step in view["steps"].items():
        for row in step["spans"].tolist():
            drawn.append(_span(view, name, step["t"], row, places, x, start, end))
            used.add(int(row[1]))
    label = "Timeline of the phases of each rank and its sampler"
    return _key(view, used) + picture(width, base + 22, label, "".join(drawn))


_HATCH = (
    '<defs><pattern id="wb-static-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="5" height="5" style="fill:var(--wb-wait)"/>'
    '<line x1="0" y1="0" x2="0" y2="5" style="stroke:var(--wb-hatch)" stroke-width="1.6"/></pattern></defs>'
)


def _places(lanes: Sequence[Mapping[str, Any]]) -> tuple[list[tuple[float, float]], float]:
    """Return (top, height) of every lane, and where the axis lies."""
    dense, top, places = len(lanes) > 16, 18.0, list[tuple[float, float]]()
    for i, lane in enumerate(lanes):
        is_rank = lane["kind"] == "rank"
        height = (14.0 if dense else 24.0) if is_rank else (8.0 if dense else 16.0)
        top += (4.0 if dense else 10.0) if i and is_rank else 0.0
        places.append((top, height))
        top += height + 2
    return places, top + 4


def _axis(x: Any, start: float, end: float, base: float, width: float, before: bool) -> str:
    drawn = [svg_line(LEFT, base, width - RIGHT, base, stroke="var(--wb-line)")]
    for mark in ticks(start - end, 0, 6):
        at, zero = x(end + mark), "stop" if before else "end"
        words = zero if mark == 0 else f"−{-mark:.3g} s"
        drawn.append(svg_line(at, 16, at, base))
        if mark == 0 or at > LEFT + 28:
            drawn.append(svg_text(at, base + 16, words, anchor="middle"))
    return "".join([*drawn, svg_text(0, base + 16, "before the stop" if before else "time before")])


def _lane(lane: Mapping[str, Any], top: float, height: float, width: float) -> str:
    color = part_color(lane["rank"]) if lane["rank"] >= 0 else "var(--wb-ink2)"
    is_rank, middle = lane["kind"] == "rank", top + height / 2
    look = f"fill:{color}" if is_rank else f"fill:none;stroke:{color};stroke-width:2"
    inset, size = (0, 10) if is_rank else (1, 8)
    name = "its thread" if lane["kind"] == "thread" else lane["name"]
    drawn = [
        f'<rect x="{inset}" y="{middle - size / 2}" width="{size}" height="{size}" rx="2" style="{look}"/>',
        svg_text(18, middle + 4, name, cls="ink" if is_rank else ""),
    ]
    if lane["busy"] is not None:
        busy = f"{100 * lane['busy']:.0f}% busy"
        drawn.append(svg_text(width - RIGHT + 12, middle + 4, busy, cls="ink" if is_rank else ""))
    return "".join(drawn)


def _span(
    view: Mapping[str, Any],
    step: str,
    begin: float,
    row: Sequence[float],
    places: Sequence[tuple[float, float]],
    x: Any,
    start: float,
    end: float,
) -> str:
    lane, phase, offset, length, rank = row
    first, last = max(begin + offset, start), min(begin + offset + length, end)
    if last <= first:
        return ""
    told, (top, height) = view["phases"][int(phase)], places[int(lane)]
    fill = "url(#wb-static-hatch)" if told["idle"] else phase_color(told["phase"])
    shown = view["lanes"][int(lane)]
    served = "" if shown["kind"] == "rank" else f" for rank {int(rank)}"
    hint = text_of(f"{shown['name']}, step {int(step):,}{served}: {told['name']}, {length * 1e3:,.3g} ms")
    place = f'x="{x(first):.1f}" y="{top:g}" width="{max(0.8, x(last) - x(first) - 0.8):.1f}" height="{height:g}"'
    return f'<rect {place} style="fill:{fill}"><title>{hint}</title></rect>'


def _key(view: Mapping[str, Any], used: set[int]) -> str:
    chips = [
        f'<span><i class="wb-chip" style="--c:{phase_color(phase["phase"])}"></i>{text_of(phase["name"])}</span>'
        for i, phase in enumerate(view["phases"])
        if i in used and not phase["idle"]
    ]
    if any(phase["idle"] and i in used for i, phase in enumerate(view["phases"])):
        chips.append('<span><i class="wb-chip wb-hatched"></i>wait</span>')
    if any(lane["kind"] != "rank" for lane in view["lanes"]):
        chips.append("<span>a sampler's work is told when its batch is used</span>")
    for one in view["before"]:
        words = f"{one['name']} {format_seconds(one['seconds'])}, before step {one['step']:,}"
        chips.append(f'<span><i class="wb-chip" style="--c:{phase_color(one["phase"])}"></i>{text_of(words)}</span>')
    return f'<div class="db-key">{"".join(chips)}</div>'
