"""Sampled mini-batches: every trainer computes on the subgraph around its own seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.params import Params, param
from workbench.core.registry import Registry
from workbench.gather import STORES, BatchPlan
from workbench.sampling import SAMPLERS
from workbench.sampling.base import steps_per_epoch
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.batches import BatchRun
from workbench.train.task import Unit


@STRATEGIES.register("mini_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatch(Strategy):
    """Mini-batch training on sampled neighbourhoods, one update a global step.

    Each epoch deals the shuffled training nodes (or edges) out to all ranks: the same number of steps on each, every
    node once, nothing dropped. A rank computes on the sampled subgraph of its own seeds.
    """

    serves: ClassVar[frozenset[Unit]] = frozenset({"node", "edge"})

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"sampler": SAMPLERS, "store": STORES})

    batch_size: int = param(1024, help="seed nodes (or edges) of a trainer in a step", minimum=1)
    sampler: Any = param("neighbor", help="the sampler: a name, an object, or its description")  # noqa: RUF009
    store: Any = param("memory", help="where features are read: a name, an object or its description")  # noqa: RUF009

    row_cut: str = param(
        "auto",
        help="compute only the rows that later layers read; auto: where results stay equal (BatchNorm aside)",
        choices=("auto", "cut", "padded", "off"),
    )

    def open(self, job: Job) -> StrategyRun:
        context = job.context
        plan = BatchPlan(
            folder=context.config.graph.folder,
            sampler=describe(SAMPLERS, self.sampler),
            store=describe(STORES, self.store),
            batch_size=self.batch_size,
            world_size=context.world_size,
            rng_seed=context.config.rng_seed,
            examples=job.task.examples(),
        )
        is_node_task = job.task.unit == "node"
        steps = steps_per_epoch(
            SAMPLERS.from_dict(plan.sampler),
            context.graph,
            len(context.graph.train_nodes) if is_node_task else job.task.num_examples(context.graph),
            batch_size=self.batch_size,
            world_size=context.world_size,
        )
        return BatchRun(job, plan, steps_per_epoch=steps, row_cut=self.row_cut)


def describe(registry: Registry[Any], choice: str | Params | Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"name": ..., "params": ...}`` of what was chosen, in whatever form it was given."""
    item = registry.from_dict(choice) if isinstance(choice, Mapping) else registry.create(choice)
    return registry.to_dict(item)
