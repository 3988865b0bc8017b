"""Exact metrics by epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import Series
from workbench.dashboard.words import figure

_SPLITS = {"val": "Validation", "test": "Test", "train": "Training"}


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
    metrics: Mapping[str, Metric] = field(default_factory=lambda: MappingProxyType({}))


@PANELS.register("metrics")
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsPanel(Panel[MetricsState]):
    """Accuracy (or the task's own metric) by exact inference after an epoch."""

    capacity: int = param(256, help="points kept of each metric, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset({"run_created", "epoch_finished", "run_restarting"})

    def initial(self) -> MetricsState:
        return MetricsState()

    def reduce(self, state: MetricsState, event: Event) -> MetricsState:
        data = event.data
        if event.kind == "run_created":
            return dataclasses.replace(state, evaluate_every=data["config"]["evaluate_every"])
        metrics = dict(state.metrics)
        if event.kind == "run_restarting":
            for name, metric in metrics.items():
                metrics[name] = dataclasses.replace(metric, series=metric.series.rewound(data["from_step"])[0])
        else:
            for name, value in data["metrics"].items():
                metrics[name] = self._measured(metrics.get(name), data["epoch"], data["step"], value)
        return dataclasses.replace(state, metrics=MappingProxyType(metrics))

    def _measured(self, before: Metric | None, epoch: int, step: int, value: float) -> Metric:
        series = before.series if before else Series(capacity=self.capacity)
        best, best_epoch = (before.best, before.best_epoch) if before else (value, epoch)
        if value > best:
            best, best_epoch = value, epoch
        return Metric(series=series.add(step, value), last=value, last_epoch=epoch, best=best, best_epoch=best_epoch)

    def view(self, state: MetricsState) -> Mapping[str, Any]:
        names = sorted(state.metrics, key=_order)
        shown = _figure(state, names[0] if names else None)
        return {
            "line": f"{shown['value']}, {shown['detail']}" if names else shown["detail"],
            "figure": shown,
            "names": {name: title(name) for name in names},
            "points": {name: state.metrics[name].series.points() for name in names},
            "last": {name: state.metrics[name].last for name in names},
        }


def _order(name: str) -> tuple[int, str]:
    return list(_SPLITS).index(name.partition("_")[0]) if name.partition("_")[0] in _SPLITS else 9, name


def title(name: str) -> str:
    """``'val_accuracy' -> 'Validation accuracy'``."""
    split, _, metric = name.partition("_")
    return f"{_SPLITS[split]} {metric.replace('_', ' ')}" if split in _SPLITS and metric else name.replace("_", " ")


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
