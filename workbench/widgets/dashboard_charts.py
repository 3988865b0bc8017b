"""Loss, metrics and throughput over one axis of steps, as pictures without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dashboard.words import sentence
from workbench.widgets.figures import Chart, Line, nice_range, tick_text

View = Mapping[str, Any]
CHART_WIDTH = 298.0
MANY_EPOCHS = 40
VISIBLE = 0.03  # of the axis: what a range must have to be seen beside a line
MARK_COLORS = {
    "warn": "var(--wb-mark)",
    "fail": "var(--wb-failed)",
    "done": "var(--wb-done)",
    "": "var(--wb-running)",
}


def _chart(views: Mapping[str, View], **given: Any) -> Chart:
    progress = views["progress"]
    last = max(progress["num_steps"], progress["furthest"], 1)
    marks = [(mark["step"], "", MARK_COLORS[mark["tone"]]) for mark in progress["marks"]]
    title = f"step {tick_text(last)}"
    return Chart(x_range=(0, last), x_title=title, marks=marks, width=CHART_WIDTH, height=136, **given)


def _clamped(points: Any, y_range: tuple[float, float]) -> list[tuple[float, float, float, float]]:
    def clamp(value: float) -> float:
        return min(max(value, y_range[0]), y_range[1])

    return [(x, clamp(mean), clamp(low), clamp(high)) for x, mean, low, high in points.tolist()]


def _line(points: Sequence[tuple[float, float, float, float]], **look: Any) -> Line:
    return Line(points=[(x, mean) for x, mean, _, _ in points], **look)


def loss_chart(views: Mapping[str, View]) -> Chart:
    """Return the training loss by step, its range over ranks, and the steps that a restart runs again."""
    shown = views["loss"]
    means = sorted(row[1] for row in shown["points"].tolist())
    y_range = nice_range(means[: -(-len(means) * 98 // 100)], zero=True)  # a spike is cut, not the curve flattened
    points = _clamped(shown["points"], y_range)
    before = _line(_clamped(shown["superseded"], y_range), color="var(--wb-ink2)")
    unit = f"{shown['unit']}, " if shown["unit"] else ""
    room = VISIBLE * (y_range[1] - y_range[0])
    grey = "; grey: range" if sum(high - low for _, _, low, high in points) > room * len(points) else ""
    last = "" if shown["last"] is None else f"{shown['last']:.3g}"
    return _chart(
        views,
        y_range=y_range,
        y_title=f"{unit}mean{grey} over ranks",
        label="Training loss by step",
        lines=[before, _line(points, label=last)],
        band=[(x, low, high) for x, _, low, high in points],
    )


def metric_title(metrics: View) -> str:
    """``{'val_accuracy': 'Validation accuracy'} -> 'Accuracy'``."""
    return next((sentence(name.split(maxsplit=1)[-1]) for name in metrics["names"].values()), "Validation")


def metrics_chart(views: Mapping[str, View]) -> Chart:
    """Return the exact metrics by epoch."""
    metrics = views["metrics"]
    values = [row[1] for points in metrics["points"].values() for row in points.tolist()]
    y_range = nice_range(values) if values else (0.0, 1.0)
    lines = []
    for i, (name, points) in enumerate(metrics["points"].items()):
        label = f"{metrics['last'][name]:.3f} {metrics['names'][name].split()[0].lower()}"
        color = "var(--wb-ink2)" if i else "var(--wb-ink)"
        lines.append(_line(_clamped(points, y_range), color=color, dots=len(points) <= MANY_EPOCHS, label=label))
    note = "" if lines else "measured at the end of an epoch"
    return _chart(
        views,
        y_range=y_range,
        y_title=metrics["axis"] or "share that is right",
        label="Metrics",
        lines=lines,
        note=note,
    )


def throughput_chart(views: Mapping[str, View]) -> Chart:
    """Return seeds a second by step."""
    shown = views["throughput"]
    y_range = nice_range([value for row in shown["points"].tolist() for value in (row[1], row[3])], zero=True)
    points = _clamped(shown["points"], y_range)
    last = "" if shown["last"] is None else f"{shown['last']:,.0f}"
    return _chart(
        views,
        y_range=y_range,
        y_title="seeds/s, median of 20 steps; grey: each step",
        label="Seeds a second by step",
        lines=[_line(points, label=last)],
        band=[(x, low, high) for x, _, low, high in points],
    )
