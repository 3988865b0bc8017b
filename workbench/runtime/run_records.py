"""The state of a run, what goes into its state machine (signals), and what comes out (instructions)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

from workbench.core.events import RUN


class Status(StrEnum):
    """What a run is doing, in the words that a person sees."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (Status.FINISHED, Status.STOPPED, Status.FAILED)


FailureKind = Literal["lost", "error", "memory", "peer", "silent"]
"""Why a rank failed: it vanished; its code raised; out of memory; another rank went first; no sign of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A Dask worker that can hold one rank."""

    address: str
    name: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How one rank failed."""

    rank: int
    kind: FailureKind
    cause: str
    host: str = ""
    traceback: str = ""
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The patience of a run.

    Parameters
    ----------
    settle_s : float
        Wait after the first failure, so that the other ranks' own errors arrive before they are killed.
    stop_s : float
        Wait for a cooperative stop before the ranks are killed.
    start_s : float
        Wait for all ranks to be ready.
    abandon_s : float
        Wait for killed ranks to be gone before their worker is held for lost.
    silent_s : float
        Wait for an event of a running rank's training loop before the rank is held for hung.
    still_s : float
        How long a rank's code may stand still (stillness.py) before the rank is held for hung.
    max_restarts : int
        Restarts after a lost rank; running out of memory is forgiven once (never where this is 0).
    """

    settle_s: float = 0.5
    stop_s: float = 4.0
    start_s: float = 120.0
    abandon_s: float = 10.0
    silent_s: float = 600.0
    still_s: float = 20.0
    max_restarts: int = 3


# ---- signals: what happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Something that happened at `time_s` (Unix)."""

    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsOffered(Signal):
    """These workers are free for a gang, and so many samplers."""

    hosts: tuple[Host, ...]
    num_samplers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTold(Signal):
    """A rank emitted an event."""

    rank: int
    generation: int
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOpened(Signal):
    """Rank 0 listens for the others at this address."""

    generation: int
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReported(Signal):
    """A rank says why it is about to end: ``finished``, ``stopped`` or a kind of failure."""

    rank: int
    generation: int
    reason: str
    cause: str = ""
    traceback: str = ""
    step: int = 0
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExited(Signal):
    """A rank's process is gone."""

    rank: int
    generation: int
    code: int
    signal: int
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStill(Signal):
    """A rank's code stands still since some seconds, or its process is stopped (`is_stopped`: by SIGSTOP)."""

    rank: int
    generation: int
    seconds: float
    where: str = ""
    traceback: str = ""
    is_stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLost(Signal):
    """A Dask worker left the cluster, and its ranks with it."""

    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAsked(Signal):
    """A person asked for something."""

    kind: str
    by: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired(Signal):
    """A timer that an instruction set has run out."""

    name: str
    generation: int


# ---- instructions: what to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Append an event to the log and show it to whoever listens."""

    kind: str
    time_s: float
    generation: int
    rank: int = RUN
    data: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRanks:
    """Start rank k on ``hosts[k]``, continuing from a checkpoint where `resume_step` is above 0."""

    generation: int
    hosts: tuple[Host, ...]
    resume_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRanks:
    """Kill these ranks at once."""

    generation: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendToRank:
    """Hand a message to a rank."""

    generation: int
    rank: int
    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """Send ``TimerFired`` after a delay."""

    name: str
    generation: int
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekHosts:
    """The run waits for workers: offer them as soon as there are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRun:
    """The run is over: close its log, free its workers."""


Instruction = Publish | StartRanks | KillRanks | SendToRank | SetTimer | SeekHosts | EndRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """All that the run manager knows of a run; ``generation`` is -1 until the first gang starts.

    A checkpoint counts (``resume_step``) when every rank has told the steps before it (``told_steps``): what a rank
    that was killed had not told yet is then told again by its successor. Until then it waits in ``saved_steps``.
    ``parts`` holds the part of the graph that a rank owns, for ranks that own one; of ranks in ``warned`` a person
    knows that they stand still.
    """

    world_size: int
    num_samplers: int
    created_s: float
    limits: Limits = field(default_factory=Limits)
    status: Status = Status.PENDING
    generation: int = -1
    hosts: tuple[Host, ...] = ()
    live: frozenset[int] = frozenset()
    ready: frozenset[int] = frozenset()
    parts: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    reports: tuple[RankReported, ...] = ()
    failures: tuple[Failure, ...] = ()
    failing: bool = False
    killed: bool = False
    stopping: bool = False
    restarts: int = 0
    memory_restarts: int = 0
    resume_step: int = 0
    saved_steps: tuple[int, ...] = ()
    told_steps: tuple[int, ...] = ()
    step: int = 0
    elapsed_s: float = 0.0
    next_control: int = 1
    heard_s: tuple[float, ...] = ()
    warned: frozenset[int] = frozenset()

    def with_(self, **changes: Any) -> RunState:
        """Return the state with some fields changed."""
        return dataclasses.replace(self, **changes)

    def publish(self, signal: Signal, kind: str, **data: Any) -> Publish:
        """Return the instruction to tell an event of the run as a whole, at the time of a signal."""
        return Publish(kind=kind, time_s=signal.time_s, generation=max(0, self.generation), data=data)

    def end(self, signal: Signal, status: Status, kind: str, **data: Any) -> Result:
        """Return the ended state and its last event."""
        return self.with_(status=status), (self.publish(signal, kind, **data), EndRun())


Result = tuple[RunState, tuple[Instruction, ...]]
