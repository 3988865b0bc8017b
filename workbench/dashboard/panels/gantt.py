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
from workbench.dashboard.panels.phases import phase_name
from workbench.dashboard.words import percent, rank_name, sampler_name

PHASES = tuple(phase.value for phase in Phase)
_INDEX = {phase: index for index, phase in enumerate(PHASES)}
_IDLE = frozenset(phase.value for phase in Phase if phase.group == "idle")
_WAITS = {Phase.WAIT_FOR_BATCH.value: "batches", Phase.WAIT_FOR_RANK.value: "other ranks"}
WORTH_TELLING = 0.05  # of the time
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
    outdated: bool = False  # a new gang has started and not finished a step: this is what was before


@PANELS.register("gantt")
@dataclass(frozen=True, slots=True, kw_only=True)
class GanttPanel(Panel[GanttState]):
    """Timeline of the last steps: each sampler under the rank that it serves.

    A sampler's work is told when its batch is used, so that its lane ends a few batches before now.
    """

    num_steps: int = param(6, help="steps shown", minimum=1, maximum=20)
    max_work: int = param(48, help="lanes times steps shown, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset({"gang_starting", "step_finished", "batch_sampled", "rank_failed"})

    def initial(self) -> GanttState:
        return GanttState()

    def reduce(self, state: GanttState, event: Event) -> GanttState:
        match event.kind:
            case "gang_starting":
                return dataclasses.replace(state, outdated=True)
            case "rank_failed":
                failed = MappingProxyType({**state.failed, event.rank: event.time_s})
                return dataclasses.replace(state, failed=failed)
        if state.outdated:
            state = GanttState()
        data = event.data
        lane: LaneKey = ("rank", event.rank)
        if event.kind == "batch_sampled":
            sampler = data["sampler"]
            lane = ("sampler", sampler) if sampler >= 0 else ("thread", event.rank)
            state = _note_service(state, sampler, event.rank)
        spans = tuple((phase, start, duration) for phase, start, duration in data["spans"])
        work = Work(lane=lane, step=data["step"], rank=event.rank, spans=spans)
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
            "phases": [{"phase": phase, "name": phase_name(phase), "idle": phase in _IDLE} for phase in PHASES],
            "lanes": shown,
            "length_s": round(window[1] - window[0], 4),
            "steps": {str(step): _step(state, step, lanes, window[0]) for step in steps},
            "start_s": window[0],
            "failed": failed,
            "outdated": state.outdated or bool(failed),
        }


def _note_service(state: GanttState, sampler: int, rank: int) -> GanttState:
    if sampler < 0 or state.serves.get(sampler, rank) == rank == state.serves.get(sampler):
        return state
    served = rank if state.serves.get(sampler, rank) == rank else -1
    return dataclasses.replace(state, serves=MappingProxyType({**state.serves, sampler: served}))


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
    inside = [span for span in spans if span[0] not in (Phase.EVALUATE, Phase.CHECKPOINT)] or list(spans)
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
    own = [start for item in work if item.lane[0] == "rank" for _, start, _ in item.spans]
    return {
        "t": begin,
        "from": min(own, default=begin),
        "spans": np.array(rows, np.float32).reshape(-1, 5),
    }


def _line(state: GanttState) -> str:
    """Say who waits for what, for the two that wait longest."""
    waits: dict[tuple[int, str], float] = {}
    lengths: dict[int, float] = {}
    for item in state.work:
        if item.lane[0] != "rank":
            continue
        for phase, _, duration in item.spans:
            lengths[item.rank] = lengths.get(item.rank, 0.0) + duration
            if phase in _WAITS:
                key = (item.rank, phase)
                waits[key] = waits.get(key, 0.0) + duration
    if not lengths:
        return "no step finished yet"
    shares = {key: seconds / lengths[key[0]] for key, seconds in waits.items() if lengths[key[0]] > 0}
    longest = sorted((key for key in shares if shares[key] >= WORTH_TELLING), key=lambda key: -shares[key])[:2]
    told = [f"rank {rank} waits {percent(shares[rank, phase])} for {_WAITS[phase]}" for rank, phase in longest]
    return ", ".join(told) or "no rank waits"
