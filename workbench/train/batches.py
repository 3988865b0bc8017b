"""Training on the batches of a plan: what every strategy with sampled batches does on one rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from workbench.core.phases import Phase
from workbench.gather import Batch, BatchPlan, BatchRequest, epoch_requests
from workbench.models import ModelInputs, call_model
from workbench.train.base import Delivery, Job, StepWork
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import attached
from workbench.train.row_cut import decide_row_cut
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

NO_SAMPLER = -1  # the batch was made inside the trainer


class Features(Protocol):
    """Brings the feature rows of a batch that came without; every rank calls it once a step."""

    def gather(self, batch: Batch) -> tuple[NDArray[np.float32], dict[str, int]]:
        """Return the rows of the batch's nodes, and the bytes that were read here, by kind."""
        ...


class BatchRun:
    """A strategy at work on one rank whose steps are the batches of a plan.

    Parameters
    ----------
    job : Job
    plan : BatchPlan
    steps_per_epoch : int
        The plan's, the same on all ranks.
    row_cut : str
        The wish, as of :func:`decide_row_cut`.
    on_close : callable, optional
        Called at the end of the run: it undoes what was done to the module.
    features : Features, optional
        Where the rows come from if the plan's batches have none.
    """

    def __init__(
        self,
        job: Job,
        plan: BatchPlan,
        *,
        steps_per_epoch: int,
        row_cut: str = "auto",
        on_close: Callable[[], None] | None = None,
        features: Features | None = None,
    ) -> None:
        self._job, self._features, self._on_close = job, features, on_close
        self.steps_per_epoch = steps_per_epoch
        self._dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._verdict = decide_row_cut(job.context, job.module, plan, row_cut)
        self._source = job.context.batch_source(plan)

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
        x, moved = self._rows(batch)
        reading = job.task.read(batch)
        with job.recorder.span(Phase.TRANSFER):
            inputs = self._inputs(batch, x, device)
            targets = torch.from_numpy(reading.targets).to(device)
            positions = torch.from_numpy(reading.positions).to(device)
        hops = batch.num_nodes_per_hop.tolist(), batch.num_edges_per_hop.tolist()
        return StepWork(
            epoch=batch.epoch,
            step=batch.step,
            num_seeds=reading.num_seeds,
            num_nodes=batch.num_nodes,
            num_edges=batch.num_edges,
            targets=targets,
            weights=None if reading.weights is None else as_tensor(reading.weights, device, self._dtype),
            forward=lambda module: job.task.rows(module, self._forward(module, inputs, *hops), positions),
            bytes_by_kind=moved,
            delivery=self._delivery(batch, filled),
        )

    def _rows(self, batch: Batch) -> tuple[NDArray[np.float32], dict[str, int]]:
        if self._features is None:
            return batch.x, {"gather": batch.x.nbytes}
        return self._features.gather(batch)

    def _forward(self, module: nn.Module, inputs: ModelInputs, nodes: list[int], edges: list[int]) -> Any:
        verdict = self._verdict
        if verdict.mode == "off":
            return call_model(module, inputs)
        with attached(module, RowCut(nodes, edges, verdict.num_calls, padded=verdict.mode == "padded")):
            return call_model(module, inputs)

    def _inputs(self, batch: Batch, x: NDArray[np.float32], device: torch.device) -> ModelInputs:
        graph, edge_ids = self._job.graph, batch.edge_ids
        weight = edge_column(graph, WEIGHT, edge_ids, device, self._dtype)
        if batch.edge_weight is not None:  # an edge that stands for others counts for them too
            factor = as_tensor(batch.edge_weight, device, self._dtype)
            weight = factor if weight is None else weight * factor
        return ModelInputs(
            x=as_tensor(x, device, self._dtype),
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
        if self._on_close is not None:
            self._on_close()
