"""A comparison of runs as a picture without scripts, and in words."""

from __future__ import annotations

from typing import Any

from workbench.core.units import format_bytes, format_seconds
from workbench.dashboard.comparison import LOSS, Comparison, is_number
from workbench.dashboard.panels.metrics import in_text, title
from workbench.dashboard.words import counted
from workbench.widgets.figures import Chart, Line, chip, figure, nice_range, svg_text, table, text_of
from workbench.widgets.theme import part_color

AXES = {"step": "step", "epoch": "epoch", "elapsed_s": "seconds of training", "bytes": "bytes moved, all ranks"}


def metric_words(metric: str) -> str:
    """``'train_loss' -> 'Training loss'``, ``'val_accuracy' -> 'Validation accuracy'``."""
    return "Training loss" if metric == LOSS else title(metric)


def _in_sentence(metric: str) -> str:
    return "training loss" if metric == LOSS else in_text(metric)


def verdict(comparison: Comparison, metric: str) -> str:
    """Say in a sentence which run is best by a metric, and which is first where all come."""
    best = comparison.best(metric)
    sign = -1 if comparison.is_lower_better(metric) else 1
    known = [(i, row) for i, row in enumerate(best) if row is not None]
    if not known:
        return "No run has measured anything yet."
    name = _in_sentence(metric)
    winner, row = max(known, key=lambda item: sign * item[1][metric])
    told = (
        f"Best {name}: {row[metric]:.4g} by {comparison.records[winner].id}, after {format_seconds(row['elapsed_s'])}."
    )
    target = comparison.usual_target(metric)
    if target is None or len(known) < 2:
        return told
    reached = [(i, r) for i, r in enumerate(comparison.reached(metric, target)) if r is not None]
    first, at = min(reached, key=lambda item: item[1]["elapsed_s"])
    who, when = comparison.records[first].id, format_seconds(at["elapsed_s"])
    return f"{told} First to {target:.4g}, which all reach: {who}, after {when}."


def run_rows(comparison: Comparison, metric: str, target: float | None) -> list[dict[str, Any]]:
    """Return what the table of runs shows: status, last and best value, and what reaching the target cost."""
    reached = [None] * len(comparison.records) if target is None else comparison.reached(metric, target)
    rows = []
    for record, best, hit in zip(comparison.records, comparison.best(metric), reached, strict=True):
        last = next((row[metric] for row in reversed(record.rows) if is_number(row.get(metric))), None)
        rows.append(
            {
                "run": record.id,
                "status": record.status,
                "summary": record.summary,
                "last": last,
                "best": None if best is None else best[metric],
                "best_epoch": None if best is None else best["epoch"],
                "total_s": record.rows[-1]["elapsed_s"] if record.rows else None,
                "total_bytes": record.rows[-1]["bytes"] if record.rows else None,
                "reached": None if hit is None else {k: hit[k] for k in ("epoch", "step", "elapsed_s", "bytes")},
            }
        )
    return rows


def text_summary(comparison: Comparison, metric: str | None = None) -> str:
    """Return a comparison in words."""
    names = comparison.metrics
    head = f"{counted(len(comparison.records), 'run')} compared"
    return f"{head}. {verdict(comparison, metric or names[0]) if names else 'No epoch is finished yet.'}"


def static_html(comparison: Comparison, metric: str | None = None, axis: str = "epoch") -> str:
    """Return a comparison as HTML and SVG: the sentence, the curves, who is best at what cost, what differs."""
    names = comparison.metrics
    if not names:
        return figure('<div class="wb-body"><p>No epoch is finished yet.</p></div>', label="Runs compared")
    name = metric if metric in names else names[0]
    body = (
        f'<h3 class="cmp-title">{text_of(counted(len(comparison.records), "run"))} compared</h3>'
        f"<p>{text_of(verdict(comparison, name))}</p>"
        f'<div class="cmp-charts">{_curves(comparison, name, axis)}{_front(comparison, name)}</div>'
        f"{_runs(comparison, name)}{_differences(comparison)}"
    )
    return figure(f'<div class="wb-body cmp">{body}</div>', label="Runs compared", style="run_comparison")


def _curves(comparison: Comparison, metric: str, axis: str) -> str:
    series = [[(row[axis], row[metric]) for row in r.rows if is_number(row.get(metric))] for r in comparison.records]
    points = [point for line in series for point in line]
    lines = [
        Line(points=line, color=part_color(i), label=f"run {i + 1}", dots=len(line) <= 40)
        for i, line in enumerate(series)
    ]
    return Chart(
        x_range=(0, max((x for x, _ in points), default=1)),
        y_range=nice_range([y for _, y in points]),
        x_title=AXES[axis],
        y_title=metric_words(metric),
        label=f"{metric_words(metric)} by {axis}",
        lines=lines,
        width=560,
        height=240,
    ).svg()


def _front(comparison: Comparison, metric: str) -> str:
    rows = comparison.pareto(metric).to_dict("records")
    known = [(i, row) for i, row in enumerate(rows) if is_number(row[metric])]
    chart = Chart(
        x_range=nice_range([row["elapsed_s"] for _, row in known], zero=True),
        y_range=nice_range([row[metric] for _, row in known]),
        x_title="seconds to its best",
        y_title=f"best {_in_sentence(metric)}; filled: no run is better and cheaper",
        label="Best value against its cost",
        width=380,
        height=240,
    )
    dots = ""
    for i, row in known:
        x, y, color = chart.x(row["elapsed_s"]), chart.y(row[metric]), part_color(i)
        fill = color if row["on_front"] else "none"
        dots += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" style="fill:{fill};stroke:{color}" stroke-width="2"/>'
        dots += svg_text(x + 8 if x < 300 else x - 8, y + 4, i + 1, anchor="start" if x < 300 else "end")
    return chart.svg().replace("</svg>", dots + "</svg>")


def _runs(comparison: Comparison, metric: str) -> str:
    target = comparison.usual_target(metric)
    rows = [
        [
            f'<span class="wb-name">{chip(part_color(i))}{i + 1}</span>',
            text_of(row["run"]),
            text_of(row["status"]),
            _number(row["best"]),
            _number(row["best_epoch"]),
            "–" if row["reached"] is None else format_seconds(row["reached"]["elapsed_s"]),
            "–" if row["total_s"] is None else format_seconds(row["total_s"]),
            "–" if row["total_bytes"] is None else format_bytes(row["total_bytes"]),
        ]
        for i, row in enumerate(run_rows(comparison, metric, target))
    ]
    to = "" if target is None else f" to {target:.4g}"
    heads = [
        "",
        "Run",
        "Status",
        f"Best {metric_words(metric).lower()}",
        "Epoch",
        f"Time{to}",
        "Time in all",
        "Bytes moved",
    ]
    return table(heads, rows, label="Runs", num=range(3, 8))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _differences(comparison: Comparison) -> str:
    rows = [[text_of(value) for value in row.values()] for row in comparison.differing()]
    if not rows:
        return "<p>Their settings are the same.</p>" if len(comparison.records) > 1 else ""
    heads = ["Setting", *(str(i + 1) for i in range(len(comparison.records)))]
    return table(heads, rows, label="Settings that differ")
