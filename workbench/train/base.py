"""What the training of a rank is made of: what it is given, and the three things that can be chosen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from workbench.core.control import Control
from workbench.core.errors import Findings
from workbench.core.params import Params
from workbench.core.phases import Span
from workbench.core.registry import Registry
from workbench.train.task import TASKS as TASKS
from workbench.train.task import Task as Task
from workbench.train.task import Unit

if TYPE_CHECKING:
    from workbench.core.config import RunConfig
    from workbench.gather import BatchPlan, BatchSource
    from workbench.graph import Graph
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport


class RankContext(Protocol):
    """What a rank is given by whoever hosts it: the only way by which training reaches the outside."""

    @property
    def rank(self) -> int: ...
    @property
    def world_size(self) -> int: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def config(self) -> RunConfig: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def transport(self) -> Transport: ...
    @property
    def folder(self) -> Path:
        """The run's folder: ``model.pkl`` is read from it, ``model.pt`` and ``predictions.npy`` are written to it."""
        ...

    def emit(self, kind: str, **data: Any) -> None:
        """Tell an event of this rank; never blocks for long."""
        ...

    def poll_control(self, step: int) -> Control | None:
        """Return the next command, the same on all ranks at the same call; every rank calls equally often."""
        ...

    def batch_source(self, plan: BatchPlan) -> BatchSource:
        """Return where this rank's batches come from: the ring of its samplers, or a thread of its own."""
        ...

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Return the state to continue from, or None for a fresh start; the same on all ranks."""
        ...

    def save_checkpoint(self, state: dict[str, Any], epoch: int, step: int) -> Path:
        """Write a state, complete or not at all, and return its path; rank 0 calls it."""
        ...

    def clock(self) -> float:
        """Return Unix time in seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the training of a rank ended.

    Parameters
    ----------
    status : str
        ``finished`` (all epochs done, ``model.pt`` written) or ``stopped`` (asked to; a checkpoint was written).
    step : int
        Last global step done.
    elapsed_s : float
        Seconds of training since the run started, restarts included.
    """

    status: Literal["finished", "stopped"]
    step: int
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Who made a batch, and what it cost: told on behalf of the producer."""

    sampler: int
    pid: int
    spans: Sequence[Span]
    ring_filled: int
    ring_slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """One rank's share of one global step.

    Parameters
    ----------
    epoch, step : int
        Epoch and global step, both from 1.
    num_seeds, num_nodes, num_edges : int
        Training nodes (edges, graphs) of this rank in this step; nodes and edges that it computes on.
    targets : Tensor
        (rows, ...) of the seeds: one row each, but for links, where negatives stand beside them.
    weights : Tensor, optional
        (rows,) factors of the rows' losses.
    forward : callable
        ``forward(module) -> (rows, out_channels)``; not called where `num_seeds` is 0, unless `joins`.
    joins : bool
        Whether forward and backward are run without a seed too, since other ranks wait for this one inside them.
    bytes_by_kind : mapping
        Bytes moved to bring the work here.
    delivery : Delivery, optional
        Its producer, where it came as a batch.
    """

    epoch: int
    step: int
    num_seeds: int
    num_nodes: int
    num_edges: int
    targets: Tensor
    forward: Callable[[nn.Module], Tensor]
    bytes_by_kind: Mapping[str, int] = field(default_factory=dict)
    delivery: Delivery | None = None
    weights: Tensor | None = None
    joins: bool = False


class StrategyRun(Protocol):
    """A strategy at work on one rank."""

    @property
    def steps_per_epoch(self) -> int:
        """Global steps an epoch: the same on all ranks."""
        ...

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        """Yield the work of every step from global step `first_step` (in `first_epoch`) to the end of the run.

        What is waited for and moved meanwhile is noted on the job's recorder.
        """
        ...

    def close(self) -> None: ...


@runtime_checkable
class KeepsState(Protocol):
    """A strategy at work that holds what a checkpoint must keep: histories, rows of earlier steps."""

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's own state, as of the last step: tensors, numbers, text, lists and dicts."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put back what this rank returned; called before the first work is asked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a strategy needs to begin: the context and what was made of its configuration."""

    context: RankContext
    module: nn.Module
    task: Task
    recorder: Recorder

    @property
    def graph(self) -> Graph:
        """Return what the model may see of the graph: the task decides."""
        return self.task.visible(self.context.graph)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy(Params):
    """How the work of an epoch is divided into steps and ranks."""

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({})  # fields that are chosen from a registry
    part_owner: ClassVar[str] = "trainer"  # what owns a part of the graph, where `parts` has a partition
    serves: ClassVar[frozenset[Unit]] = frozenset({"node"})  # what targets may belong to
    computes_together: ClassVar[bool] = False  # whether ranks exchange rows inside of one forward and backward

    def count_parts(self, trainers: int) -> int:
        """Return how many parts the graph is divided into, where `parts` has a partition: one a trainer."""
        return trainers

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        """Note what makes a run by this strategy impossible."""

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        """Note what in a model this strategy would compute wrongly; ``make()`` gives the module, to be looked at."""

    def check_sampler(self, sampler: Any, findings: Findings) -> None:
        """Note a sampler that this strategy cannot work with; by default it takes every one that it has."""

    @abstractmethod
    def open(self, job: Job) -> StrategyRun:
        """Return the strategy at work on one rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTotals:
    """Sums over all ranks in one step; `vote` is the sum of what ranks put in (a wish to save, say)."""

    loss_sum: float
    num_seeds: int
    vote: float


class UpdateRun(Protocol):
    """An update rule at work on one rank. A rule derives from it, and says what differs from a synchronous one."""

    control_every: int = 1
    """Steps from one poll of commands to the next: a rank may be ahead of rank 0 by as many."""
    is_by_rank: bool = False
    """Whether ranks keep states of their own, each written by its rank; else rank 0's stands for all."""

    @abstractmethod
    def apply(self, loss_sum: float, num_seeds: int, vote: float) -> StepTotals:
        """Turn the ranks' gradients of summed losses into one update of the parameters; every rank calls it.

        A rule whose ranks do not meet in every step returns zeros meanwhile, and what has come together later.
        """
        ...

    def settle(self) -> StepTotals:
        """Return what `apply` has not returned yet, of all ranks; all call it at the end of an epoch."""
        return StepTotals(loss_sum=0.0, num_seeds=0, vote=0.0)

    def settled(self) -> AbstractContextManager[None]:
        """Let the module have, meanwhile, the parameters that stand for the run: the same on all ranks; all call it.

        Evaluation, checkpoints and the final model see those.
        """
        return nullcontext()

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return what the rule keeps between steps; all ranks call it, inside of `settled`."""
        ...

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put back what `state_dict` returned; all ranks call it."""
        ...

    def close(self) -> None:
        """Let go of what is held open; also after an error."""
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Params):
    """How the gradients of the ranks become new parameters."""

    @property
    def is_reproducible(self) -> bool:
        """Whether the same configuration gives the same bits on a CPU, also after a restart."""
        return True

    def check(self, strategy: Strategy, *, trainers: int, findings: Findings) -> None:
        """Note what makes a run by this rule impossible."""

    @abstractmethod
    def open(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, transport: Transport, recorder: Recorder
    ) -> UpdateRun:
        """Return the rule at work on one rank."""


STRATEGIES: Registry[Strategy] = Registry(
    "strategy",
    Strategy,  # type: ignore[type-abstract]
    "workbench.train.strategies",
    "workbench.strategies",
)
UPDATES: Registry[Update] = Registry(
    "update rule",
    Update,  # type: ignore[type-abstract]
    "workbench.train.updates",
    "workbench.updates",
)
