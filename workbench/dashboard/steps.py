"""A global step as one record: every rank tells its share, and panels want the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.core.events import Event
from workbench.core.phases import Phase

STEP_COMPLETED = "step_completed"  # an event made here, after the last rank's ``step_finished`` of a step
BETWEEN_STEPS = frozenset({Phase.EVALUATE, Phase.CHECKPOINT})  # told with the step that follows them


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStep:
    """One rank's share of a step; ``phase_s`` holds seconds by phase."""

    rank: int
    num_seeds: int
    num_nodes: int
    num_edges: int
    loss: float | None
    start_s: float
    end_s: float
    phase_s: Mapping[str, float]
    bytes: Mapping[str, int]
    ring_filled: int | None
    ring_slots: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A global step that all ranks have finished.

    ``start_s`` and ``end_s`` (Unix) leave out evaluation and checkpoints, which lie between steps.
    """

    epoch: int
    step: int
    ranks: tuple[RankStep, ...]

    @property
    def num_seeds(self) -> int:
        return sum(rank.num_seeds for rank in self.ranks)

    @property
    def duration_s(self) -> float:
        return max(rank.end_s for rank in self.ranks) - min(rank.start_s for rank in self.ranks)

    @property
    def losses(self) -> tuple[tuple[float, int], ...]:
        """Return (loss, weight) of every rank that had seeds."""
        return tuple((rank.loss, rank.num_seeds) for rank in self.ranks if rank.loss is not None and rank.num_seeds)


def rank_step(event: Event) -> RankStep:
    """Read a rank's ``step_finished``."""
    data = event.data
    inside = [span for span in data["spans"] if span[0] not in BETWEEN_STEPS]
    phase_s: dict[str, float] = {}
    for phase, _, duration_s in data["spans"]:
        phase_s[phase] = phase_s.get(phase, 0.0) + duration_s
    return RankStep(
        rank=event.rank,
        num_seeds=data["num_seeds"],
        num_nodes=data["num_nodes"],
        num_edges=data["num_edges"],
        loss=data["loss"],
        start_s=min((span[1] for span in inside), default=event.time_s),
        end_s=max((span[1] + span[2] for span in inside), default=event.time_s),
        phase_s=MappingProxyType(phase_s),
        bytes=data["bytes"],
        ring_filled=data["ring_filled"],
        ring_slots=data["ring_slots"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAssembler:
    """Waits for every rank's share of a step; immutable."""

    world_size: int = 0
    open: Mapping[int, tuple[RankStep, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def add(self, event: Event) -> tuple[StepAssembler, StepRecord | None]:
        """Return the assembler after an event, and the step that it completed."""
        if event.kind == "gang_starting":
            return StepAssembler(world_size=len(event.data["workers"])), None
        if event.kind != "step_finished":
            return self, None
        step = event.data["step"]
        shares = (*self.open.get(step, ()), rank_step(event))
        if len(shares) < self.world_size:
            opened = MappingProxyType({**self.open, step: shares})
            return StepAssembler(world_size=self.world_size, open=opened), None
        later = MappingProxyType({number: told for number, told in self.open.items() if number > step})
        ranks = tuple(sorted(shares, key=lambda share: share.rank))
        record = StepRecord(epoch=event.data["epoch"], step=step, ranks=ranks)
        return StepAssembler(world_size=self.world_size, open=later), record


def completed(event: Event, record: StepRecord) -> Event:
    """Return the event that tells panels of a completed step."""
    data = MappingProxyType({"record": record})
    return Event(
        kind=STEP_COMPLETED, time_s=event.time_s, seq=event.seq, generation=event.generation, rank=-1, data=data
    )


def with_completed_steps(events: Iterable[Event], assembler: StepAssembler) -> Iterator[tuple[Event, StepAssembler]]:
    """Yield the events, each completed step after its last share, with the assembler after each."""
    for event in events:
        assembler, record = assembler.add(event)
        yield event, assembler
        if record is not None:
            yield completed(event, record), assembler
