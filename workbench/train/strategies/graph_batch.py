"""Mini-batches of whole graphs, for data that is many small graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.gather import STORES, BatchPlan
from workbench.graph.graph_set import graph_set
from workbench.sampling.seeds import num_steps
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.batches import BatchRun
from workbench.train.graphwise import GraphwiseInference, open_graphwise
from workbench.train.strategies.mini_batch import describe
from workbench.train.task import Unit


@STRATEGIES.register("graph_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBatch(Strategy):
    """Mini-batches of whole graphs, one update a global step.

    Each epoch deals the shuffled training graphs out to all ranks: the same number of steps on each, every graph once,
    batches that differ by at most one graph. Graphs share no edge, so ranks exchange gradients alone.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"store": STORES})
    serves: ClassVar[frozenset[Unit]] = frozenset({"graph"})

    batch_size: int = param(32, help="graphs of a trainer in a step", unit="graphs", minimum=1)
    store: Any = param("memory", help="where features are read: a name, an object or its description")  # noqa: RUF009

    def open(self, job: Job) -> StrategyRun:
        context = job.context
        plan = BatchPlan(
            folder=context.config.graph.folder,
            sampler={"name": "full", "params": {}},  # of no use: graphs come whole
            store=describe(STORES, self.store),
            batch_size=self.batch_size,
            world_size=context.world_size,
            rng_seed=context.config.rng_seed,
            examples=job.task.examples(),
        )
        num_graphs = len(graph_set(context.graph).train_graphs)
        steps = num_steps(num_graphs, self.batch_size, context.world_size)
        return _GraphBatchRun(BatchRun(job, plan, steps_per_epoch=steps, row_cut="off"), open_graphwise(job))


class _GraphBatchRun:
    """Batches for training, and exact inference graph by graph."""

    def __init__(self, batches: BatchRun, inference: GraphwiseInference) -> None:
        self.steps_per_epoch, self.works, self.close = batches.steps_per_epoch, batches.works, batches.close
        self.inference = inference
