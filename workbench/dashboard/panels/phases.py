"""Time by phase and rank: means of the last steps, so that the phases add up to the step.

Every sentence about waiting (the verdict's, the timeline's, this panel's) comes from :func:`waiting_words` here: one
window, one threshold.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.phases import Phase
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.steps import BETWEEN_STEPS, STEP_COMPLETED, StepRecord
from workbench.dashboard.words import RECENT, mean, milliseconds, percent, recent

BETWEEN = "Between steps, each time"
SUPPLY = (Phase.SAMPLE, Phase.GATHER)
IN_STEP = (
    Phase.WAIT_FOR_BATCH,
    Phase.TRANSFER,
    Phase.FORWARD,
    Phase.BACKWARD,
    Phase.EXCHANGE,
    Phase.WAIT_FOR_RANK,
    Phase.ALL_REDUCE,
    Phase.UPDATE,
)
NAMES = {Phase.ALL_REDUCE: "all-reduce", Phase.WAIT_FOR_BATCH: "wait for batch", Phase.WAIT_FOR_RANK: "wait for rank"}
WAITS = {Phase.WAIT_FOR_BATCH: "batches", Phase.WAIT_FOR_RANK: "other ranks"}
WORTH_TELLING = 0.05  # of a step: what is less is hardly any waiting
Steps = tuple[Mapping[str, float], ...]  # seconds by phase, one mapping a step


def phase_name(phase: str) -> str:
    """Return how a phase is called on screen."""
    return NAMES.get(Phase(phase), str(phase))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesState:
    """The last steps of each rank, and the last batches made for it; ``parts`` says which part a rank owns.

    One more is kept than is looked at, and the oldest left out: so the first of a gang, which warms up, counts only as
    long as it is the only one. What lies between steps is kept by occurrence.
    """

    steps: Mapping[int, Steps] = field(default_factory=lambda: MappingProxyType({}))
    between: Mapping[int, Steps] = field(default_factory=lambda: MappingProxyType({}))
    supply: Mapping[int, Steps] = field(default_factory=lambda: MappingProxyType({}))
    parts: Mapping[int, int | None] = field(default_factory=lambda: MappingProxyType({}))
    outdated: bool = False  # a new gang has started and not finished a step: these are the times before

    @property
    def num_steps(self) -> int:
        """Return over how many steps the means are taken."""
        return min((len(_told(steps)) for steps in self.steps.values()), default=0)

    def mean_s(self, rank: int, phase: str) -> float:
        """Return the mean seconds a step of a phase in a rank (a batch, or an occurrence, where the phase is that)."""
        return mean(step.get(phase, 0.0) for step in self._of(rank, phase)) or 0.0

    def _of(self, rank: int, phase: str) -> Steps:
        if phase in BETWEEN_STEPS:
            return tuple(phases for phases in self.between.get(rank, ()) if phase in phases)
        return _told((self.supply if phase in SUPPLY else self.steps).get(rank, ()))

    def step_s(self, rank: int) -> float:
        """Return the mean seconds of a rank's step, waiting included."""
        return mean(sum(step.values()) for step in _told(self.steps.get(rank, ()))) or 0.0

    def supply_s(self, rank: int) -> float | None:
        """Return the mean seconds in which a batch for a rank is made, or None where nobody tells."""
        return mean(sum(step.values()) for step in _told(self.supply.get(rank, ())))

    def used(self, phase: str) -> bool:
        """Say whether any rank spent time in a phase lately."""
        ranks = (*self.steps, *self.supply, *self.between)
        return any(step.get(phase, 0.0) > 0 for rank in ranks for step in self._of(rank, phase))


def _told(steps: Steps) -> Steps:
    return steps[1:] if len(steps) > 1 else steps


def waiting_words(state: PhasesState) -> str:
    """Say which rank waits for what in the last steps, for the two that wait longest."""
    shares = {
        (rank, phase): state.mean_s(rank, phase) / state.step_s(rank)
        for rank in sorted(state.steps)
        for phase in WAITS
        if state.step_s(rank) > 0
    }
    longest = sorted((key for key in shares if shares[key] >= WORTH_TELLING), key=lambda key: -shares[key])[:2]
    told = [f"rank {rank} waits {percent(shares[rank, phase])} for {WAITS[phase]}" for rank, phase in longest]
    return ", ".join(told) or "hardly any waiting"


KINDS = frozenset({"gang_starting", "rank_ready", "batch_sampled", STEP_COMPLETED})


INITIAL = PhasesState()
_last: tuple[PhasesState, Event | None, PhasesState] = (INITIAL, None, INITIAL)


def reduce_phases(state: PhasesState, event: Event) -> PhasesState:
    """Fold an event of ``KINDS`` in.

    Three panels of a dashboard do the same with each event: it is done once where state and event are the same objects.
    """
    global _last
    before, seen, result = _last
    if seen is not event or before is not state:
        result = _reduce(state, event)
        _last = state, event, result
    return result


def _reduce(state: PhasesState, event: Event) -> PhasesState:
    match event.kind:
        case "gang_starting":
            return dataclasses.replace(state, outdated=True)
        case "rank_ready":
            parts = MappingProxyType({**state.parts, event.rank: event.data["part"]})
            return dataclasses.replace(state, parts=parts)
    if state.outdated:
        state = PhasesState(parts=state.parts)
    match event.kind:
        case "batch_sampled":
            supply = _with(state.supply, {event.rank: _totals(event.data["spans"])})
            return dataclasses.replace(state, supply=supply)
    record: StepRecord = event.data["record"]
    inside = {r.rank: _only(r.phase_s, lambda phase: phase not in BETWEEN_STEPS) for r in record.ranks}
    between = {r.rank: _only(r.phase_s, lambda phase: phase in BETWEEN_STEPS) for r in record.ranks}
    between = {rank: phases for rank, phases in between.items() if phases}
    return dataclasses.replace(
        state, steps=_with(state.steps, inside), between=_with(state.between, between) if between else state.between
    )


def _only(phases: Mapping[str, float], wanted: Any) -> Mapping[str, float]:
    return MappingProxyType({phase: seconds for phase, seconds in phases.items() if wanted(phase)})


def _totals(spans: Iterable[Any]) -> Mapping[str, float]:
    totals: dict[str, float] = {}
    for phase, _, duration_s in spans:
        if phase in SUPPLY:  # a sampler's own waiting is no work
            totals[phase] = totals.get(phase, 0.0) + duration_s
    return MappingProxyType(totals)


def _with(steps: Mapping[int, Steps], more: Mapping[int, Mapping[str, float]]) -> Mapping[int, Steps]:
    return MappingProxyType(
        {**steps, **{rank: recent(steps.get(rank, ()), value, RECENT + 1) for rank, value in more.items()}}
    )


@PANELS.register("phases")
@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesPanel(Panel[PhasesState]):
    """Milliseconds a step in each phase, for each rank: the mean of the last 20 steps."""

    kinds: ClassVar[frozenset[str]] = KINDS

    def initial(self) -> PhasesState:
        return INITIAL

    def reduce(self, state: PhasesState, event: Event) -> PhasesState:
        return reduce_phases(state, event)

    def view(self, state: PhasesState) -> Mapping[str, Any]:
        ranks = sorted(state.steps)
        groups = (
            ("Making a batch, ahead of the step", SUPPLY),
            ("In the step", IN_STEP),
            (BETWEEN, tuple(sorted(BETWEEN_STEPS))),
        )
        return {
            "line": _line(state, ranks),
            "ranks": [{"rank": rank, "part": state.parts.get(rank)} for rank in ranks],
            "rows": [_row(state, ranks, group, phase) for group, phases in groups for phase in phases],
            "step_ms": [_ms(state.step_s(rank)) for rank in ranks],
            "num_steps": state.num_steps,
        }


def _ms(seconds: float) -> float:
    return float(f"{seconds * 1e3:.4g}")


def _row(state: PhasesState, ranks: list[int], group: str, phase: Phase) -> dict[str, Any]:
    used = state.used(phase)
    values = [_ms(state.mean_s(rank, phase)) for rank in ranks] if used else []
    return {"group": group, "phase": phase.value, "name": phase_name(phase), "used": used, "ms": values}


def _line(state: PhasesState, ranks: list[int]) -> str:
    if not ranks:
        return "no step finished yet"
    return f"{milliseconds(max(map(state.step_s, ranks)))} a step, {waiting_words(state)}"
