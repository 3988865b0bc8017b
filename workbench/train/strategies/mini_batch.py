"""Sampled mini-batches: every trainer computes on the subgraph around its own seeds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from workbench.core.params import Params, param
from workbench.core.phases import Phase
from workbench.core.registry import Registry
from workbench.gather import STORES, Batch, BatchPlan, BatchRequest, epoch_requests
from workbench.models import ModelInputs, call_model
from workbench.sampling import SAMPLERS
from workbench.sampling.base import steps_per_epoch
from workbench.train.base import STRATEGIES, Delivery, Job, StepWork, Strategy, StrategyRun
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import attached
from workbench.train.row_cut import decide_row_cut
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

NO_SAMPLER = -1  # the batch was made inside the trainer


@STRATEGIES.register("mini_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatch(Strategy):
    """Mini-batch training on sampled neighbourhoods, one update a global step.

    Each epoch deals the shuffled training nodes out to all ranks: the same number of steps on each, every node once,
    nothing dropped. A rank computes on the sampled subgraph of its own seeds.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"sampler": SAMPLERS, "store": STORES})

    batch_size: int = param(1024, help="seed nodes of a trainer in a step", unit="nodes", minimum=1)
    sampler: Any = param("neighbor", help="the sampler: a name, an object, or its description")  # noqa: RUF009
    store: Any = param("memory", help="where features are read: a name, an object or its description")  # noqa: RUF009

    row_cut: str = param(
        "auto",
        help="compute only the rows that later layers read; auto: where outputs and gradients stay equal",
        choices=("auto", "cut", "padded", "off"),
    )

    def open(self, job: Job) -> StrategyRun:
        return _MiniBatchRun(self, job)


def describe(registry: Registry[Any], choice: str | Params | Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"name": ..., "params": ...}`` of what was chosen, in whatever form it was given."""
    item = registry.from_dict(choice) if isinstance(choice, Mapping) else registry.create(choice)
    return registry.to_dict(item)


class _MiniBatchRun:
    def __init__(self, strategy: MiniBatch, job: Job) -> None:
        self._job, context = job, job.context
        config = context.config
        plan = BatchPlan(
            folder=config.graph.folder,
            sampler=describe(SAMPLERS, strategy.sampler),
            store=describe(STORES, strategy.store),
            batch_size=strategy.batch_size,
            world_size=context.world_size,
            rng_seed=config.rng_seed,
        )
        self.steps_per_epoch = steps_per_epoch(
            SAMPLERS.from_dict(plan.sampler),
            context.graph,
            len(context.graph.train_nodes),
            batch_size=strategy.batch_size,
            world_size=context.world_size,
        )
        self._dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._verdict = decide_row_cut(context, job.module, plan, strategy.row_cut)
        self._source = context.batch_source(plan)

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        batches = self._source.batches(self._requests(first_epoch, first_step))
        while True:
            filled = self._source.filled  # when the rank asks: an empty ring is a rank that waits
            with self._job.recorder.span(Phase.WAIT_FOR_BATCH):
                batch = next(batches, None)
            if batch is None:
                return
            yield self._work(batch, filled)

    def _requests(self, first_epoch: int, first_step: int) -> Iterator[BatchRequest]:
        """Yield one request a step to the end of the run: batches of the next epoch are made during evaluation."""
        done = first_step - 1 - (first_epoch - 1) * self.steps_per_epoch
        context = self._job.context
        return chain.from_iterable(
            epoch_requests(
                epoch=epoch,
                rank=context.rank,
                steps_per_epoch=self.steps_per_epoch,
                first=done if epoch == first_epoch else 0,
            )
            for epoch in range(first_epoch, context.config.epochs + 1)
        )

    def _work(self, batch: Batch, filled: int) -> StepWork:
        job, device = self._job, self._job.context.device
        assert batch.y is not None, "the task has checked that there are labels"
        known = np.flatnonzero(job.task.is_known(batch.y))
        with job.recorder.span(Phase.TRANSFER):
            inputs = self._inputs(batch, device)
            targets = torch.from_numpy(batch.y[known]).to(device)
            rows = torch.from_numpy(known).to(device)
        hops = batch.num_nodes_per_hop.tolist(), batch.num_edges_per_hop.tolist()
        return StepWork(
            epoch=batch.epoch,
            step=batch.step,
            num_seeds=len(known),
            num_nodes=batch.num_nodes,
            num_edges=batch.num_edges,
            targets=targets,
            weights=None if batch.node_weight is None else as_tensor(batch.node_weight[known], device, self._dtype),
            forward=lambda module: self._forward(module, inputs, *hops)[rows],
            bytes_by_kind={"gather": batch.x.nbytes},
            delivery=self._delivery(batch, filled),
        )

    def _forward(self, module: nn.Module, inputs: ModelInputs, nodes: list[int], edges: list[int]) -> Any:
        verdict = self._verdict
        if verdict.mode == "off":
            return call_model(module, inputs)
        with attached(module, RowCut(nodes, edges, verdict.num_calls, padded=verdict.mode == "padded")):
            return call_model(module, inputs)

    def _inputs(self, batch: Batch, device: torch.device) -> ModelInputs:
        graph, edge_ids = self._job.context.graph, batch.edge_ids
        weight = edge_column(graph, WEIGHT, edge_ids, device, self._dtype)
        if batch.edge_weight is not None:  # an edge that stands for others counts for them too
            factor = as_tensor(batch.edge_weight, device, self._dtype)
            weight = factor if weight is None else weight * factor
        return ModelInputs(
            x=as_tensor(batch.x, device, self._dtype),
            edge_index=as_tensor(batch.edge_index, device, torch.int64),
            edge_weight=weight,
            edge_attr=edge_column(graph, ATTRIBUTES, edge_ids, device, self._dtype),
            batch=None if batch.batch is None else torch.from_numpy(batch.batch).to(device),
        )

    def _delivery(self, batch: Batch, filled: int) -> Delivery:
        """Say who made a batch: a source fed by samplers knows (``producer``: sampler and process id)."""
        sampler, pid = getattr(self._source, "producer", (NO_SAMPLER, os.getpid()))
        return Delivery(sampler=sampler, pid=pid, spans=batch.spans, ring_filled=filled, ring_slots=self._source.slots)

    def close(self) -> None:
        self._source.close()
