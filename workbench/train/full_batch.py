"""Full-batch training, one step an epoch over all training nodes of a rank: what its strategies share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.train.base import Job, StepWork

if TYPE_CHECKING:
    from workbench.graph import Graph

Ids = NDArray[np.int64]


def precision_of(module: nn.Module) -> torch.dtype:
    """Return the type of a module's first parameter."""
    return next((parameter.dtype for parameter in module.parameters()), torch.float32)


class FullBatchRun(ABC):
    """A full-batch strategy at work on one rank; abstract: how the rank's rows are computed is a subclass's.

    Parameters
    ----------
    job : Job
    graph : Graph
        Whose training nodes with a target are trained on.
    nodes : slice, optional
        The nodes of this rank, where the graph holds others too; by default all.
    """

    steps_per_epoch: ClassVar[int] = 1
    joins: ClassVar[bool] = True  # whether ranks wait for one another inside of a forward

    def __init__(self, job: Job, graph: Graph, nodes: slice | None = None) -> None:
        device = job.context.device
        first, last = (0, graph.num_nodes) if nodes is None else (nodes.start, nodes.stop)
        train_nodes = job.task.labelled(graph, graph.train_nodes)
        own: Ids = train_nodes[(train_nodes >= first) & (train_nodes < last)]
        self._num_epochs = job.context.config.epochs
        self._train_nodes = torch.from_numpy(own - first).to(device)
        self._targets = torch.from_numpy(np.asarray(graph.y[own])).to(device)
        self._num_nodes, self._num_edges = last - first, graph.num_edges

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        for epoch in range(first_step, self._num_epochs + 1):  # one step an epoch
            yield StepWork(
                epoch=epoch,
                step=epoch,
                num_seeds=len(self._train_nodes),
                num_nodes=self._num_nodes,
                num_edges=self._num_edges,
                targets=self._targets,
                forward=partial(self._seed_rows, step=epoch),
                joins=self.joins,
            )

    def _seed_rows(self, module: nn.Module, step: int) -> Tensor:
        rows: Tensor = self._forward(module, step)[self._train_nodes]
        return rows

    @abstractmethod
    def _forward(self, module: nn.Module, step: int) -> Any:
        """Return (num_nodes, out_channels) the outputs of the rank's nodes in a step."""

    def close(self) -> None:
        """Nothing is held open."""
        return
