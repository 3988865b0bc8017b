"""Training seeds a second."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from workbench.core.events import TERMINAL_KINDS, Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import LAST, MEAN, Series
from workbench.dashboard.steps import STEP_COMPLETED, StepRecord
from workbench.dashboard.words import figure, median, percent, recent

DROP = 0.15  # a change smaller than this is called noise
MOSTLY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputState:
    """``series`` holds single steps, ``smooth`` the median of the 20 up to each: the line, whose end is "now"."""

    series: Series = field(default_factory=Series)
    smooth: Series = field(default_factory=Series)
    superseded: Series = field(default_factory=Series)
    recent: tuple[float, ...] = ()
    standing: bool = True
    ended: bool = False


@PANELS.register("throughput")
@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputPanel(Panel[ThroughputState]):
    """Seeds of all ranks a second of training; evaluation and checkpoints are left out."""

    capacity: int = param(256, help="points kept, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset(
        {STEP_COMPLETED, "run_restarting", "run_paused", "run_resumed", "run_started"} | TERMINAL_KINDS
    )

    def initial(self) -> ThroughputState:
        empty = Series(capacity=self.capacity)
        return ThroughputState(series=empty, smooth=empty, superseded=empty)

    def reduce(self, state: ThroughputState, event: Event) -> ThroughputState:
        match event.kind:
            case "step_completed":
                return _add_step(state, event.data["record"])
            case "run_restarting":
                step = event.data["from_step"]
                smooth, after = state.smooth.rewound(step)
                series = state.series.rewound(step)[0]
                return dataclasses.replace(state, series=series, smooth=smooth, superseded=after, standing=True)
        if event.kind in TERMINAL_KINDS:
            return dataclasses.replace(state, ended=True)
        return dataclasses.replace(state, standing=event.kind not in ("run_started", "run_resumed"))

    def view(self, state: ThroughputState) -> Mapping[str, Any]:
        now = median(state.recent)
        detail, tone = _change(state, now)
        shown = "–" if now is None else f"{now:,.0f}" if now >= 10 else f"{now:.2g}"
        hint = "Training seeds of all ranks a second, median of the last 20 steps; evaluation left out"
        return {
            "line": "no step finished yet" if now is None else f"{shown} seeds/s",
            "figure": figure("Throughput", shown, unit="seeds/s", detail=detail, tone=tone, hint=hint),
            "points": _points(state, now),
            "superseded": state.superseded.points(),
            "last": now,
        }


def _add_step(state: ThroughputState, record: StepRecord) -> ThroughputState:
    if record.duration_s <= 0:
        return state
    rate = record.num_seeds / record.duration_s
    rates = recent(state.recent, rate)
    smooth = state.smooth.add(record.step, median(rates) or rate)
    series = state.series.add(record.step, rate)
    return dataclasses.replace(state, series=series, smooth=smooth, recent=rates, standing=False)


def _points(state: ThroughputState, now: float | None) -> npt.NDArray[np.float32]:
    """Return the median of 20 steps between the least and the greatest single step; the last point is now."""
    points = state.smooth.points()
    points[:, 2:] = state.series.points()[:, 2:]
    if len(points) and now is not None:
        points[-1, 1] = now
    return points


def _change(state: ThroughputState, now: float | None) -> tuple[str, str]:
    """Say how the rate of now compares with the whole run's, and since when it differs."""
    if now is None:
        return "known after the first step", "muted"
    if state.standing and not state.ended:
        return "stands still; the rate before", "muted"
    means, lasts = state.series.table[:, MEAN], state.series.table[:, LAST]
    if len(means) < 8:
        return "", ""
    usual = float(np.median(means))
    best = float(np.percentile(means, 75))
    if now >= best * (1 - DROP) or best <= 0:
        return f"median of the run {usual:,.0f}", ""
    below = means < (best + now) / 2
    share_below_after = np.cumsum(below[::-1])[::-1] / np.arange(len(below), 0, -1)
    since = lasts[np.argmax(below & (share_below_after > MOSTLY))]  # the first after which most steps are slow
    return f"−{percent(1 - now / best)} since step {since:,.0f}", "warn"
