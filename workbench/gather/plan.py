"""Plans of batches: everything that decides their bits, and the one function that makes one."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.phases import Phase, Span
from workbench.gather.base import STORES, FeatureStore
from workbench.gather.batch import Batch, Ids
from workbench.gather.dealing import EXAMPLES, Drawn
from workbench.gather.part_seeds import PartSeeds
from workbench.graph import Graph
from workbench.sampling import SAMPLERS
from workbench.sampling.base import steps_per_epoch
from workbench.sampling.seeds import epoch_order, seed_range

SEED_SETS = ("train_nodes", "val_nodes", "test_nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """Which batch is wanted.

    Parameters
    ----------
    epoch : int
        From 1.
    step_in_epoch : int
        From 0.
    step : int
        Global step, from 1: the batch's name in events.
    rank : int
    """

    epoch: int
    step_in_epoch: int
    step: int
    rank: int


def epoch_requests(
    *, epoch: int, rank: int, steps_per_epoch: int, first: int = 0, last_step: int | None = None
) -> Iterator[BatchRequest]:
    """Yield the requests of a rank for an epoch, from step `first` (from 0) of it on.

    Parameters
    ----------
    last_step : int, optional
        Global step at which the epoch before ended; by default all epochs had `steps_per_epoch` steps.
    """
    before = (epoch - 1) * steps_per_epoch if last_step is None else last_step
    for step_in_epoch in range(first, steps_per_epoch):
        yield BatchRequest(epoch=epoch, step_in_epoch=step_in_epoch, step=before + step_in_epoch + 1, rank=rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What decides every batch of a run, small enough to travel to any process.

    Parameters
    ----------
    folder : str
        The graph's folder (``graph.store()``).
    sampler, store : mapping
        ``{"name": ..., "params": {...}}``, as the registries' ``to_dict`` returns. Without a store (None) batches
        have no features: who trains on them brings the rows.
    batch_size : int
        The most seeds of a rank in a step; a sampler that draws its seeds has a size of its own.
    world_size : int
        Number of ranks.
    rng_seed : int
    seed_set : str
        Whose nodes are the seeds: ``train_nodes``, ``val_nodes`` or ``test_nodes``.
    parts_folder : str
        Where the parts of the graph lie (``Partition.write_parts``), one a rank, if a rank's seeds are to be those of
        its own part; empty where all ranks share the seeds of the graph.
    examples : mapping, optional
        What is dealt out in place of nodes: ``{"name": ..., "params": {...}}`` of :data:`EXAMPLES`.
    """

    folder: str
    sampler: Mapping[str, Any]
    store: Mapping[str, Any] | None = field(default_factory=lambda: {"name": "memory", "params": {}})
    batch_size: int = 1024
    world_size: int = 1
    rng_seed: int = 0
    seed_set: str = "train_nodes"
    parts_folder: str = ""
    examples: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        findings = Findings("batch plan")
        for name in ("batch_size", "world_size"):
            if getattr(self, name) < 1:
                findings.add(name, "at least 1", getattr(self, name), f"pass {name}=1 or more")
        if self.seed_set not in SEED_SETS:
            findings.add("seed_set", f"one of {list(SEED_SETS)}", repr(self.seed_set), "name a split of the graph")
        findings.raise_if_any()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BatchPlan:
        return cls(**record)


class BatchMaker:
    """Makes any batch of a plan, in any order, on any thread or process: always the same bits.

    The graph is mapped from its folder once a process and its features are opened once for all makers.
    """

    def __init__(self, plan: BatchPlan) -> None:
        self.plan = plan
        self.graph = _graph_in(plan.folder)
        self.sampler = SAMPLERS.from_dict(plan.sampler)
        self.store = _store_of(plan)
        self._deal = None if plan.examples is None else EXAMPLES.from_dict(plan.examples).open(self.graph)
        self.seed_nodes: Ids = getattr(self.graph, plan.seed_set) if self._deal is None else self._deal.ids
        shape = {"batch_size": plan.batch_size, "world_size": plan.world_size}
        self._part_seeds: PartSeeds | None = None
        if plan.parts_folder:
            self._part_seeds = PartSeeds(plan.parts_folder, plan.seed_set, rng_seed=plan.rng_seed, **shape)
            self.steps_per_epoch = self._part_seeds.steps_per_epoch
        else:
            self.steps_per_epoch = steps_per_epoch(self.sampler, self.graph, len(self.seed_nodes), **shape)
        # A batch without seeds: kernels are compiled or loaded now, and the first batch takes as long as the others.
        self._draw(self.seed_nodes[:0], epoch=0, batch=0, rng_seed=0)
        # Batches are made ahead: at the turn of an epoch two orders are in use.
        self._order = functools.lru_cache(maxsize=2)(self._make_order)

    def seeds(self, *, epoch: int, step_in_epoch: int, rank: int) -> Ids:
        """Return what the sampler is given for a batch: all seeds where it draws them itself, else the batch's own.

        The latter are dealt out as by :func:`workbench.sampling.split_seeds`, or stay with the owner of their part.
        """
        plan, steps = self.plan, self.steps_per_epoch
        self._check(step_in_epoch, rank)
        if self.sampler.draws_seeds:
            return self.seed_nodes
        if self._part_seeds is not None:
            return self._part_seeds.batch(epoch=epoch, step_in_epoch=step_in_epoch, rank=rank)
        shape = {"steps": steps, "world_size": plan.world_size, "step": step_in_epoch, "rank": rank}
        begin, end = seed_range(len(self.seed_nodes), **shape)
        return self._order(epoch)[begin:end]

    def make(self, *, epoch: int, step: int, rank: int, step_in_epoch: int | None = None) -> Batch:
        """Sample and gather one batch.

        Parameters
        ----------
        epoch : int
            From 1.
        step : int
            Global step, from 1.
        rank : int
        step_in_epoch : int, optional
            From 0; by default it follows from `step`, all epochs having the same number of steps.

        Raises
        ------
        InputError
            If the epoch has no such step, or the world no such rank.
        """
        if step_in_epoch is None:
            step_in_epoch = step - 1 - (epoch - 1) * self.steps_per_epoch
        seeds = self.seeds(epoch=epoch, step_in_epoch=step_in_epoch, rank=rank)
        clock = _Stopwatch()
        number = step_in_epoch * self.plan.world_size + rank
        drawn = self._draw(seeds, epoch=epoch, batch=number, rng_seed=self.plan.rng_seed)
        subgraph, sampled = drawn.subgraph, clock.span(Phase.SAMPLE)
        x = (
            np.empty((subgraph.num_nodes, 0), np.float32)
            if self.store is None
            else self.store.gather(subgraph.node_ids)
        )
        return Batch(
            node_ids=subgraph.node_ids,
            edge_index=subgraph.edge_index,
            edge_ids=subgraph.edge_ids,
            num_nodes_per_hop=subgraph.num_nodes_per_hop,
            num_edges_per_hop=subgraph.num_edges_per_hop,
            edge_weight=subgraph.edge_weight,
            node_weight=drawn.weights,
            pairs=drawn.pairs,
            batch=subgraph.batch,
            x=x,
            y=drawn.y,
            epoch=epoch,
            step_in_epoch=step_in_epoch,
            step=step,
            rank=rank,
            spans=(sampled, clock.span(Phase.GATHER)),
        )

    def _draw(self, ids: Ids, *, epoch: int, batch: int, rng_seed: int) -> Drawn:
        """Return the batch of some nodes, or of what is dealt out in place of them."""
        if self._deal is not None:
            return self._deal.draw(self.sampler, ids, epoch=epoch, batch=batch, rng_seed=rng_seed)
        subgraph = self.sampler.sample(self.graph, ids, epoch=epoch, batch=batch, rng_seed=rng_seed)
        y = None if self.graph.y is None else self.graph.y[subgraph.seed_nodes]
        return Drawn(subgraph=subgraph, y=y, weights=subgraph.node_weight)

    def answer(self, request: BatchRequest) -> Batch:
        """Make the batch that is asked for."""
        return self.make(**dataclasses.asdict(request))

    def _make_order(self, epoch: int) -> Ids:
        return epoch_order(self.seed_nodes, rng_seed=self.plan.rng_seed, epoch=epoch)

    def _check(self, step_in_epoch: int, rank: int) -> None:
        findings = Findings("batch")
        for name, value, count in (
            ("step_in_epoch", step_in_epoch, self.steps_per_epoch),
            ("rank", rank, self.plan.world_size),
        ):
            if not 0 <= value < count:
                findings.add(name, f"0 to {count - 1}" if count else "no step at all", value, f"ask for another {name}")
        findings.raise_if_any()


class _Stopwatch:
    """Cuts time into spans; starts come from the shared clock, durations from the steady one."""

    def __init__(self) -> None:
        self._start_s, self._mark_s = time.time(), time.perf_counter()

    def span(self, phase: Phase) -> Span:
        """Return the span since the last one ended."""
        now_s = time.perf_counter()
        span = Span(phase=phase, start_s=self._start_s, duration_s=now_s - self._mark_s)
        self._start_s, self._mark_s = self._start_s + span.duration_s, now_s
        return span


_stores: weakref.WeakValueDictionary[tuple[str, int, str], FeatureStore] = weakref.WeakValueDictionary()


def _graph_in(folder: str) -> Graph:
    return _mapped_graph(folder, _version(folder))


@functools.lru_cache(maxsize=8)
def _mapped_graph(folder: str, version: int) -> Graph:
    return Graph.open(folder)


def _version(folder: str) -> int:
    """Return what changes when a folder is written anew."""
    return (Path(folder) / "graph.json").stat().st_mtime_ns


def _store_of(plan: BatchPlan) -> FeatureStore | None:
    """Open the plan's store, if it has one, or share the one that another maker of this process has open."""
    if plan.store is None:
        return None
    key = (plan.folder, _version(plan.folder), json.dumps(plan.store, sort_keys=True, default=str))
    store = _stores.get(key)
    if store is None:
        store = _stores.setdefault(key, STORES.from_dict(plan.store).open(_graph_in(plan.folder)))
    return store
