"""Links of a whole graph, fold by fold: each step predicts its share of the training edges from all the others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.gather.link_pairs import training_pairs
from workbench.models import ModelInputs, call_model
from workbench.sampling.seeds import epoch_order, seed_range
from workbench.train.base import Job, StepWork
from workbench.train.tasks.link_prediction import LinkPrediction, split_of
from workbench.train.whole import whole_graph_inputs


class FoldedLinks:
    """Full-graph training of links on one rank: as many steps an epoch as the task has folds, every edge once."""

    def __init__(self, job: Job) -> None:
        assert isinstance(job.task, LinkPrediction), "edges are the targets of links"
        context, self._job, self._task = job.context, job, job.task
        self._split = split_of(job.task, context.graph)
        self._dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._inputs = whole_graph_inputs(job.graph, context.device, self._dtype)
        self._ids = np.arange(self._split.train_pairs.shape[1])
        self.steps_per_epoch = min(job.task.num_folds, len(self._ids))
        rng_seed = context.config.rng_seed
        self._order = lru_cache(maxsize=1)(lambda epoch: epoch_order(self._ids, rng_seed=rng_seed, epoch=epoch))

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        for step in range(first_step, self._job.context.config.epochs * self.steps_per_epoch + 1):
            yield self._work(step)

    def _work(self, step: int) -> StepWork:
        context, steps = self._job.context, self.steps_per_epoch
        epoch, fold = 1 + (step - 1) // steps, (step - 1) % steps
        begin, end = seed_range(len(self._ids), steps=steps, world_size=1, step=fold, rank=0)
        ids = self._order(epoch)[begin:end]
        found = training_pairs(
            self._split, ids, num_negatives=self._task.num_negatives, epoch=epoch, rng_seed=context.config.rng_seed
        )
        inputs, positions = self._without(ids), torch.from_numpy(found.ends).to(context.device)
        return StepWork(
            epoch=epoch,
            step=step,
            num_seeds=len(ids),
            num_nodes=len(inputs.x),
            num_edges=inputs.edge_index.shape[1],
            targets=torch.from_numpy(found.targets).to(context.device),
            weights=torch.from_numpy(found.weights).to(context.device, self._dtype),
            forward=lambda module: self._forward(module, inputs, positions),
        )

    def _without(self, ids: NDArray[np.int64]) -> ModelInputs:
        """Return the whole graph without the edges of a fold."""
        in_fold = np.zeros(len(self._ids) + 1, bool)
        in_fold[ids] = True  # the last stands for edges that are never predicted (-1)
        kept = torch.from_numpy(~in_fold[self._split.pair_of_edge]).to(self._job.context.device)
        whole = self._inputs
        return ModelInputs(
            x=whole.x,
            edge_index=whole.edge_index[:, kept],
            edge_weight=None if whole.edge_weight is None else whole.edge_weight[kept],
            edge_attr=None if whole.edge_attr is None else whole.edge_attr[kept],
        )

    def _forward(self, module: nn.Module, inputs: ModelInputs, positions: Tensor) -> Tensor:
        return self._task.rows(module, call_model(module, inputs), positions)

    def close(self) -> None:
        """Nothing is held open."""
