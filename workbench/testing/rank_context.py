"""A rank inside this process: the whole training of a run with no cluster, its events kept in a list."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from workbench.core.config import RunConfig
from workbench.core.control import Control
from workbench.core.events import EVENT_KINDS, Event, of_kind
from workbench.gather import BatchPlan, BatchSource, LocalSource
from workbench.graph import Graph
from workbench.models import save_module
from workbench.train import Outcome, ResolvedRun, SoloTransport, Transport, checkpoint, train_rank
from workbench.train.thread_transport import run_in_threads

Controls = Callable[[int, int], Control | None]


@dataclass(slots=True, kw_only=True)
class LocalContext:
    """A rank's context whose outside is this process.

    Parameters
    ----------
    config, graph, folder
        The run's configuration, the graph, and the run's folder.
    transport : Transport
        To the other ranks; alone by default.
    controls : callable, optional
        ``controls(step, call)`` is what ``poll_control(step)`` returns at its `call`-th call (from 0).
    events : list of Event
        What the rank told, in order; threads of one run may share it.
    """

    config: RunConfig
    graph: Graph
    folder: Path
    transport: Transport = field(default_factory=SoloTransport)
    controls: Controls | None = None
    events: list[Event] = field(default_factory=list)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    num_polls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rank(self) -> int:
        return self.transport.rank

    @property
    def world_size(self) -> int:
        return self.transport.world_size

    def emit(self, kind: str, **data: Any) -> None:
        """Keep an event; one that breaks the vocabulary is our own mistake."""
        fields = EVENT_KINDS[kind].fields
        assert set(data) == set(fields), f"{kind} has the fields {sorted(fields)}, got {sorted(data)}"
        with self._lock:
            seq = len(self.events) + 1
            data = MappingProxyType(data)  # type: ignore[assignment]
            self.events.append(Event(kind=kind, time_s=self.clock(), seq=seq, rank=self.rank, data=data))

    def poll_control(self, step: int) -> Control | None:
        call, self.num_polls = self.num_polls, self.num_polls + 1
        return self.controls(step, call) if self.controls else None

    def batch_source(self, plan: BatchPlan) -> BatchSource:
        return LocalSource(plan)

    def load_checkpoint(self) -> dict[str, Any] | None:
        return checkpoint.load_newest(self.folder)

    def save_checkpoint(self, state: dict[str, Any], epoch: int, step: int) -> Path:
        return checkpoint.save(self.folder, state, epoch, step)

    def clock(self) -> float:
        return time.time()

    def told(self, *kinds: str) -> list[Mapping[str, Any]]:
        """Return the data of the events of some kinds, in order."""
        return [event.data for event in of_kind(self.events, *kinds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """A run that was trained here: how each rank ended, and what all of them told."""

    outcomes: list[Outcome]
    events: list[Event]
    folder: Path

    def told(self, *kinds: str, rank: int | None = None) -> list[Mapping[str, Any]]:
        """Return the data of the events of some kinds (of one rank), in order."""
        return [event.data for event in of_kind(self.events, *kinds) if rank is None or event.rank == rank]

    @property
    def losses(self) -> list[float]:
        """The training loss of each epoch."""
        return [data["train_loss"] for data in self.told("epoch_finished")]


def train_here(
    resolved: ResolvedRun, folder: Path, *, controls: Controls | None = None, timeout_s: float = 120.0
) -> LocalRun:
    """Train a run in this process, its trainers as threads, and return what happened.

    Torch's random state is one for all threads: with more than one trainer, compare bits at dropout 0 only.
    """
    if resolved.module is not None:
        save_module(resolved.module, folder)
    config = resolved.config
    graph, events, lock = Graph.open(config.graph.folder), [], threading.Lock()  # type: ignore[var-annotated]

    def rank(transport: Transport) -> Outcome:
        return train_rank(
            LocalContext(
                config=config,
                graph=graph,
                folder=folder,
                transport=transport,
                controls=controls,
                events=events,
                _lock=lock,
            )
        )

    outcomes = run_in_threads(config.trainers, rank, timeout_s=timeout_s)
    return LocalRun(outcomes=outcomes, events=events, folder=folder)
