"""Mini-batches on a partitioned graph: seeds stay with their part's owner, remote features are fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.phases import Phase
from workbench.core.registry import Registry
from workbench.gather import Batch, BatchPlan
from workbench.gather.part_seeds import PartSeeds
from workbench.gather.stores.partitioned import PartitionedRows, owners_in
from workbench.partition import PARTITIONERS
from workbench.sampling import SAMPLERS
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.batches import BatchRun
from workbench.train.partitioned import FOLDER, open_local_part
from workbench.train.recorder import Recorder
from workbench.train.strategies.mini_batch import describe
from workbench.train.transport import Transport


@STRATEGIES.register("partitioned_mini_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedMiniBatch(Strategy):
    """Mini-batch training on a graph whose nodes, with their features, are divided among the trainers.

    Each trainer owns a part: its seeds are the part's training nodes, each once an epoch, in as many steps as the
    largest part needs, the smaller ones with smaller batches. The topology is shared (mapped by every rank), so that
    batches are sampled as if the graph were whole; of the features a rank reads its own rows, and fetches those of
    other nodes in one message an owner and step: ``(sampled nodes not owned) * width * 4`` bytes. A step's rows are
    fetched when the step begins: nothing of it overlaps with computation. Exact evaluation reads features from the
    graph's folder, as in every strategy with batches.

    Zheng et al., "DistDGL: Distributed Graph Neural Network Training for Billion-Scale Graphs", IA3 2020,
    arXiv 2010.05337.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"sampler": SAMPLERS, "partition": PARTITIONERS})

    batch_size: int = param(1024, help="seed nodes of a trainer in a step", unit="nodes", minimum=1)
    sampler: Any = param("neighbor", help="the sampler: a name, an object, or its description")  # noqa: RUF009
    partition: Any = param("metis", help="one part a trainer: a method's name, its object, or a Partition")  # noqa: RUF009

    row_cut: str = param(
        "auto",
        help="compute only the rows that later layers read; auto: where results stay equal (BatchNorm aside)",
        choices=("auto", "cut", "padded", "off"),
    )

    def check_sampler(self, sampler: Any, findings: Findings) -> None:
        chosen = describe(SAMPLERS, sampler)
        if SAMPLERS.from_dict(chosen).draws_seeds:
            got = f"{chosen['name']!r}, which draws the nodes of a batch from the whole graph"
            fix = "use sampler='neighbor', or strategy='cluster_batch' or 'mini_batch'"
            findings.add("sampler", "one that starts at the seeds of a rank's own part", got, fix)

    def open(self, job: Job) -> StrategyRun:
        context, folder = job.context, self.partition[FOLDER]
        plan = BatchPlan(
            folder=context.config.graph.folder,
            sampler=describe(SAMPLERS, self.sampler),
            store=None,
            batch_size=self.batch_size,
            world_size=context.world_size,
            rng_seed=context.config.rng_seed,
            parts_folder=folder,
        )
        shape = {"batch_size": plan.batch_size, "world_size": plan.world_size, "rng_seed": plan.rng_seed}
        rows = PartitionedRows(
            open_local_part(folder, context.rank),
            owners_in(folder, context.world_size, context.graph.num_nodes),
            ArrayPeers(context.transport),
        )
        return BatchRun(
            job,
            plan,
            steps_per_epoch=PartSeeds(folder, plan.seed_set, **shape).steps_per_epoch,
            row_cut=self.row_cut,
            features=RemoteFeatures(rows, job.recorder, context.emit),
        )


class ArrayPeers:
    """The transport, for arrays: what moves is counted there."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.rank, self.world_size = transport.rank, transport.world_size

    def exchange(self, blocks: Sequence[NDArray[Any]], num_rows: Sequence[int], kind: str) -> list[NDArray[Any]]:
        sent = [torch.from_numpy(block) for block in blocks]
        return [block.numpy() for block in self._transport.exchange(sent, num_rows, kind)]


class RemoteFeatures:
    """Brings the rows of a batch from their owners, and tells how many, and the time: waiting, then the exchange."""

    def __init__(self, rows: PartitionedRows, recorder: Recorder, emit: Callable[..., None]) -> None:
        self.rows, self._recorder, self._emit = rows, recorder, emit

    def gather(self, batch: Batch) -> tuple[NDArray[np.float32], dict[str, int]]:
        with self._recorder.span(Phase.WAIT_FOR_RANK):
            wanted = self.rows.announce(batch.node_ids)
        with self._recorder.span(Phase.EXCHANGE):
            x = self.rows.fetch(wanted)
        num_local = len(wanted.own)
        self._emit("rows_gathered", step=batch.step, num_local=num_local, num_cached=0, num_remote=len(x) - num_local)
        return x, {"gather": len(wanted.own) * self.rows.width * x.itemsize}
