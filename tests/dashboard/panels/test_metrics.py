"""Metrics of any task: which value is best, which are drawn, and what the axis says."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core.events import Event
from workbench.dashboard.panels.metrics import MetricsPanel, in_text, title
from workbench.dashboard.panels.verdict import VerdictPanel


def event(kind: str, **data: Any) -> Event:
    return Event(kind=kind, time_s=0.0, seq=1, rank=0, data=data)


def started(metric: str, lower: list[str] | None) -> Event:
    data: dict[str, Any] = {"num_epochs": 3, "steps_per_epoch": 1, "num_train_nodes": 9, "num_parameters": 1}
    data |= {"metric": metric} | ({} if lower is None else {"lower_is_better": lower})
    return event("train_started", **data)


def epoch(number: int, **metrics: float) -> Event:
    data = {"elapsed_s": 1.0, "train_loss": 0.5, "evaluate_s": 0.1, "bytes": {}, "metrics": metrics}
    return event("epoch_finished", epoch=number, step=number, **data)


def states(metric: str, lower: list[str] | None, values: list[float], **others: float) -> tuple[Any, Any, MetricsPanel]:
    panel, verdict = MetricsPanel(), VerdictPanel()
    shown, judged = panel.initial(), verdict.initial()
    told = [started(metric, lower)]
    told += [epoch(i + 1, **{f"val_{metric}": value, **others}) for i, value in enumerate(values)]
    for item in told:
        shown, judged = panel.reduce(shown, item), verdict.reduce(judged, item)
    return shown, judged, panel


@pytest.mark.parametrize(
    ("metric", "lower", "best", "at"),
    [("mae", ["mae"], 0.2, 2), ("auc", [], 0.9, 3), ("accuracy", None, 0.9, 3)],  # None: a log of an earlier version
)
def test_the_best_value_is_the_least_where_less_is_better(
    metric: str, lower: list[str] | None, best: float, at: int
) -> None:
    shown, judged, _ = states(metric, lower, [0.5, 0.2, 0.9])
    found = shown.metrics[f"val_{metric}"]
    assert (found.best, found.best_epoch, found.last) == (best, at, 0.9)
    assert judged.best == (f"val_{metric}", best, at)


def test_only_the_metric_that_counts_first_is_drawn_on_its_axis() -> None:
    shown, _, panel = states("mae", ["mae"], [0.5], test_mae=0.6, val_r2=0.1, test_r2=0.2)
    view = panel.view(shown)
    assert list(view["names"].values()) == ["Validation MAE", "Test MAE"]
    assert set(view["points"]) == {"val_mae", "test_mae"}
    assert view["axis"] == "mean absolute error"
    other, _, _ = states("hits_at_10", [], [0.5])
    assert panel.view(other)["axis"] == "hits at 10"


def test_titles_write_short_names_as_people_do() -> None:
    assert title("val_f1") == "Validation F1"
    assert title("test_accuracy") == "Test accuracy"
    assert in_text("val_auc") == "validation AUC"
    assert title("custom_thing") == "custom thing"
