"""Training loss by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import MEAN, Series
from workbench.dashboard.steps import STEP_COMPLETED, StepRecord
from workbench.dashboard.words import figure

_UNITS = {"node_classification": "nats"}  # both of its losses are cross-entropies with natural logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class LossState:
    """``superseded`` holds the steps that the last restart runs again."""

    unit: str = ""
    series: Series = field(default_factory=Series)
    superseded: Series = field(default_factory=Series)
    last: float | None = None
    last_step: int = 0
    epoch: int = 0
    epoch_loss: float | None = None


@PANELS.register("loss")
@dataclass(frozen=True, slots=True, kw_only=True)
class LossPanel(Panel[LossState]):
    """Training loss: mean over the seeds of all ranks, and the range over ranks."""

    capacity: int = param(256, help="points kept, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset({"run_created", STEP_COMPLETED, "epoch_finished", "run_restarting"})

    def initial(self) -> LossState:
        return LossState(series=Series(capacity=self.capacity), superseded=Series(capacity=self.capacity))

    def reduce(self, state: LossState, event: Event) -> LossState:
        match event.kind:
            case "step_completed":
                return _add_step(state, event.data["record"])
            case "epoch_finished":
                return dataclasses.replace(state, epoch=event.data["epoch"], epoch_loss=event.data["train_loss"])
            case "run_restarting":
                return _rewound(state, event.data["from_step"])
        return dataclasses.replace(state, unit=_UNITS.get(event.data["config"]["task"]["name"], ""))

    def view(self, state: LossState) -> Mapping[str, Any]:
        shown = "–" if state.last is None else f"{state.last:.3g}"
        mean = "" if state.epoch_loss is None else f"epoch {state.epoch} mean {state.epoch_loss:.3g}"
        hint = "Mean over the seeds of all ranks in the last step that every rank finished"
        tone = "muted" if state.last is None else ""
        return {
            "line": "no step finished yet" if state.last is None else f"{shown} at step {state.last_step:,}",
            "figure": figure("Training loss", shown, unit=state.unit, detail=mean, tone=tone, hint=hint),
            "unit": state.unit,
            "points": state.series.points(),
            "superseded": state.superseded.points(),
            "last": state.last,
        }


def _rewound(state: LossState, step: int) -> LossState:
    series, after = state.series.rewound(step)
    last = float(series.table[-1, MEAN]) if len(series) else None
    return dataclasses.replace(state, series=series, superseded=after, last=last, last_step=step)


def _add_step(state: LossState, record: StepRecord) -> LossState:
    losses = record.losses
    weight = sum(seeds for _, seeds in losses)
    if not weight:
        return state
    mean = sum(loss * seeds for loss, seeds in losses) / weight
    low, high = min(loss for loss, _ in losses), max(loss for loss, _ in losses)
    series = state.series.add(record.step, mean, low=low, high=high)
    return dataclasses.replace(state, series=series, last=mean, last_step=record.step)
