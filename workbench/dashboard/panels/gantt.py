"""What every rank and sampler did in the last steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from workbench.core.events import Event
from workbench.core.params import param
from workbench.core.phases import Phase
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.panels import phases
from workbench.dashboard.panels.phases import phase_name
from workbench.dashboard.service import with_service
from workbench.dashboard.steps import BETWEEN_STEPS
from workbench.dashboard.words import counted, rank_name, sampler_name

PHASES = tuple(phase.value for phase in Phase)
_INDEX = {phase: index for index, phase in enumerate(PHASES)}
_IDLE = frozenset(phase.value for phase in Phase if phase.group == "idle")
LaneKey = tuple[str, int]  # ("rank", 0), ("sampler", 2), ("thread", 0): a rank's own sampling thread
Spans = tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one lane did for one step of one rank."""

    lane: LaneKey
    step: int
    rank: int
    spans: Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class GanttState:
    work: tuple[Work, ...] = ()
    serves: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))  # sampler -> rank, -1: several
    failed: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))  # rank -> time of its failure
    last_step: int = 0
    between: tuple[Work, ...] = ()  # of each rank, the last evaluation and checkpoint, told with the step after them
    phases: phases.PhasesState = phases.INITIAL
    outdated: bool = False  # a new gang has started and not finished a step: this is what was before


@PANELS.register("gantt")
@dataclass(frozen=True, slots=True, kw_only=True)
class GanttPanel(Panel[GanttState]):
    """Timeline of the last steps: each sampler under the rank that it serves.

    A sampler's work is told when its batch is used, so that its lane ends a few batches before now.
    """

    num_steps: int = param(6, help="steps shown", minimum=1, maximum=20)
    max_work: int = param(48, help="lanes times steps shown, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = phases.KINDS | {"step_finished", "rank_failed"}

    def initial(self) -> GanttState:
        return GanttState()

    def reduce(self, state: GanttState, event: Event) -> GanttState:
        if event.kind in phases.KINDS:
            state = dataclasses.replace(state, phases=phases.reduce_phases(state.phases, event))
        match event.kind:
            case "step_completed" | "rank_ready":
                return state
            case "gang_starting":
                return dataclasses.replace(state, outdated=True)
            case "rank_failed":
                failed = MappingProxyType({**state.failed, event.rank: event.time_s})
                return dataclasses.replace(state, failed=failed)
        if state.outdated:
            state = GanttState(phases=state.phases)
        data = event.data
        lane: LaneKey = ("rank", event.rank)
        if event.kind == "batch_sampled":
            sampler = data["sampler"]
            lane = ("sampler", sampler) if sampler >= 0 else ("thread", event.rank)
            state = dataclasses.replace(state, serves=with_service(state.serves, sampler, event.rank))
        spans = tuple((phase, start, duration) for phase, start, duration in data["spans"])
        work = Work(lane=lane, step=data["step"], rank=event.rank, spans=spans)
        if any(phase in BETWEEN_STEPS for phase, _, _ in spans):
            others = tuple(item for item in state.between if item.rank != event.rank)
            state = dataclasses.replace(state, between=(*others, work))
        return self._trimmed(state, (*state.work, work))

    def _trimmed(self, state: GanttState, work: tuple[Work, ...]) -> GanttState:
        last = max(state.last_step if state.work else 0, work[-1].step)
        lanes = len({item.lane for item in work})
        kept = max(2, min(self.num_steps, self.max_work // max(lanes, 1)))
        return dataclasses.replace(state, work=tuple(item for item in work if item.step > last - kept), last_step=last)

    def view(self, state: GanttState) -> Mapping[str, Any]:
        lanes = _lanes(state)
        rank_spans = [span for item in state.work if item.lane[0] == "rank" for span in item.spans]
        window = _window(rank_spans)
        shown = [_lane(state, key, window) for key in lanes]
        steps = sorted({item.step for item in state.work})
        failed = {str(rank): round(time_s - window[1], 4) for rank, time_s in state.failed.items()}
        return {
            "line": _line(state),
            "before": _before(state, steps),
            "phases": [{"phase": phase, "name": phase_name(phase), "idle": phase in _IDLE} for phase in PHASES],
            "lanes": shown,
            "length_s": round(window[1] - window[0], 4),
            "steps": {str(step): _step(state, step, lanes, window[0]) for step in steps},
            "start_s": window[0],
            "failed": failed,
            "outdated": state.outdated or bool(failed),
        }


def _lanes(state: GanttState) -> list[LaneKey]:
    """Return the lanes from top to bottom: each rank, then what serves it alone; last the samplers of several ranks."""

    def place(key: LaneKey) -> tuple[float, int, int]:
        kind, index = key
        if kind == "sampler":
            served = state.serves.get(index, -1)
            return (served if served >= 0 else float("inf")), 1, index
        return index, int(kind != "rank"), 0

    return sorted({item.lane for item in state.work}, key=place)


def _window(spans: Sequence[tuple[str, float, float]]) -> tuple[float, float]:
    inside = [span for span in spans if span[0] not in BETWEEN_STEPS] or list(spans)
    if not inside:
        return 0.0, 0.0
    return min(start for _, start, _ in inside), max(start + duration for _, start, duration in spans)


def _lane(state: GanttState, key: LaneKey, window: tuple[float, float]) -> dict[str, Any]:
    kind, index = key
    work = [item for item in state.work if item.lane == key]
    rank = index if kind != "sampler" else state.serves.get(index, -1)
    name = rank_name(index) if kind == "rank" else sampler_name(index if kind == "sampler" else -1, index)
    return {"kind": kind, "index": index, "rank": rank, "name": name, "busy": _busy([s for i in work for s in i.spans])}


def _busy(spans: list[tuple[str, float, float]]) -> float | None:
    """Return the share of the time from the first span to the end of the last in which the lane worked."""
    length = max((s + d for _, s, d in spans), default=0.0) - min((s for _, s, _ in spans), default=0.0)
    worked, until = 0.0, -np.inf  # spans may overlap where a sampler makes several batches at once
    for start, duration in sorted((s, d) for phase, s, d in spans if phase not in _IDLE):
        worked += max(0.0, start + duration - max(start, until))
        until = max(until, start + duration)
    return round(min(worked / length, 1.0), 3) if length > 0 else None


def _step(state: GanttState, step: int, lanes: list[LaneKey], start_s: float) -> dict[str, Any]:
    """Return a step's spans: float32 (spans, 5) rows of lane, phase, start, duration, rank; seconds from its ``t``."""
    work = [item for item in state.work if item.step == step]
    begin = min((start for item in work for _, start, _ in item.spans), default=start_s)
    rows = [
        (lanes.index(item.lane), _INDEX[phase], start - begin, duration, item.rank)
        for item in work
        for phase, start, duration in item.spans
        if phase in _INDEX
    ]
    ranks = [item for item in work if item.lane[0] == "rank"]  # evaluation is told with the step after it, not in it
    own = [start for item in ranks for phase, start, _ in item.spans if phase not in BETWEEN_STEPS]
    return {
        "t": begin,
        "from": min(own, default=begin),
        "spans": np.array(rows, np.float32).reshape(-1, 5),
    }


def _before(state: GanttState, steps: list[int]) -> list[dict[str, Any]]:
    """Return evaluation and checkpoint before the steps that are shown: seconds of the rank that took longest."""
    gone = [item for item in state.between if steps and item.step < steps[0]]
    longest: dict[str, tuple[float, int]] = {}
    for item in gone:
        for phase in BETWEEN_STEPS:
            seconds = sum(duration for name, _, duration in item.spans if name == phase)
            longest[phase] = max(longest.get(phase, (0.0, 0)), (seconds, item.step))
    return [
        {"phase": str(phase), "name": phase_name(phase), "seconds": round(seconds, 4), "step": step}
        for phase, (seconds, step) in sorted(longest.items(), reverse=True)
        if seconds > 0
    ]


def _line(state: GanttState) -> str:
    """Say who waits for what, over the same steps as every other sentence about waiting."""
    if not state.phases.num_steps:
        return "no step finished yet"
    return f"{phases.waiting_words(state.phases)}, in the last {counted(state.phases.num_steps, 'step')}"
