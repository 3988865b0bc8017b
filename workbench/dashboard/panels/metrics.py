"""Exact metrics by epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import Series
from workbench.dashboard.words import figure

_SPLITS = {"val": "Validation", "test": "Test", "train": "Training"}
_AXES = {
    "accuracy": "share that is right",
    "f1": "F1 over all labels",
    "mae": "mean absolute error",
    "auc": "area under the ROC curve",
}
_SHORT = {"f1": "F1", "mae": "MAE", "r2": "R²", "auc": "AUC", "mrr": "MRR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric: its series over steps, and its last and best value with their epochs."""

    series: Series
    last: float
    last_epoch: int
    best: float
    best_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsState:
    evaluate_every: int = 1
    main: str = ""
    lower_is_better: tuple[str, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=lambda: MappingProxyType({}))


@PANELS.register("metrics")
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsPanel(Panel[MetricsState]):
    """The task's metrics (accuracy, F1, error ...) by exact inference after an epoch."""

    capacity: int = param(256, help="points kept of each metric, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset({"run_created", "train_started", "epoch_finished", "run_restarting"})

    def initial(self) -> MetricsState:
        return MetricsState()

    def reduce(self, state: MetricsState, event: Event) -> MetricsState:
        data = event.data
        if event.kind == "run_created":
            return dataclasses.replace(state, evaluate_every=data["config"]["evaluate_every"])
        if event.kind == "train_started":
            lower = tuple(data.get("lower_is_better", ()))
            return dataclasses.replace(state, main=data["metric"], lower_is_better=lower)
        metrics = dict(state.metrics)
        if event.kind == "run_restarting":
            for name, metric in metrics.items():
                metrics[name] = dataclasses.replace(metric, series=metric.series.rewound(data["from_step"])[0])
        else:
            for name, value in data["metrics"].items():
                metrics[name] = self._measured(state, name, data["epoch"], data["step"], value)
        return dataclasses.replace(state, metrics=MappingProxyType(metrics))

    def _measured(self, state: MetricsState, name: str, epoch: int, step: int, value: float) -> Metric:
        before = state.metrics.get(name)
        series = before.series if before else Series(capacity=self.capacity)
        best, best_epoch = (before.best, before.best_epoch) if before else (value, epoch)
        if is_better(name, value, best, state.lower_is_better):
            best, best_epoch = value, epoch
        return Metric(series=series.add(step, value), last=value, last_epoch=epoch, best=best, best_epoch=best_epoch)

    def view(self, state: MetricsState) -> Mapping[str, Any]:
        names = sorted(state.metrics, key=_order)
        # One axis, one unit: the metric that counts first; the others are in the log and in run.history.
        names = [name for name in names if name.partition("_")[2] == state.main] or names
        shown = _figure(state, names[0] if names else None)
        return {
            "line": f"{shown['value']}, {shown['detail']}" if names else shown["detail"],
            "figure": shown,
            "axis": _AXES.get(state.main, state.main.replace("_", " ")),
            "names": {name: title(name) for name in names},
            "points": {name: state.metrics[name].series.points() for name in names},
            "last": {name: state.metrics[name].last for name in names},
        }


def _order(name: str) -> tuple[int, str]:
    return list(_SPLITS).index(name.partition("_")[0]) if name.partition("_")[0] in _SPLITS else 9, name


def title(name: str) -> str:
    """``'val_accuracy' -> 'Validation accuracy'``, ``'test_mae' -> 'Test MAE'``."""
    split, _, metric = name.partition("_")
    if split not in _SPLITS or not metric:
        return name.replace("_", " ")
    return f"{_SPLITS[split]} {_SHORT.get(metric, metric.replace('_', ' '))}"


def in_text(name: str) -> str:
    """``'val_mae' -> 'validation MAE'``: a title within a sentence."""
    words = title(name)
    return words[:1].lower() + words[1:]


def is_better(name: str, value: float, than: float, lower_is_better: Sequence[str]) -> bool:
    """Say whether a value of ``'val_mae'`` beats another; `lower_is_better` names metrics (``'mae'``)."""
    return value < than if name.partition("_")[2] in lower_is_better else value > than


def _figure(state: MetricsState, name: str | None) -> dict[str, Any]:
    if name is None:
        every = state.evaluate_every
        when = "after each epoch" if every == 1 else f"every {every} epochs" if every > 0 else "after the last epoch"
        return figure("Validation", "–", detail=f"measured {when}", tone="muted", hint="Exact inference on all nodes")
    metric = state.metrics[name]
    if metric.best_epoch == metric.last_epoch:
        detail = f"epoch {metric.last_epoch}" + (", best so far" if len(metric.series) > 1 else "")
    else:
        detail = f"epoch {metric.last_epoch}; best {metric.best:.3f} at epoch {metric.best_epoch}"
    return figure(title(name), f"{metric.last:.3f}", detail=detail, hint="By exact inference at the end of an epoch")
