"""Full-batch training with the features divided: rows for what is computed of a node, columns for its messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.models import ModelInputs, call_model
from workbench.train.base import Job, StepWork
from workbench.train.boundaries.columns import ColumnData, Columns
from workbench.train.boundary import attached
from workbench.train.columns import TRANSPOSES, ColumnExchange
from workbench.train.halo import Kinds
from workbench.train.keyed_dropout import KeyedDropout, KeyedRows
from workbench.train.message_watch import MessageWatch
from workbench.train.part_runner import PartInference, no_way_around
from workbench.train.seeding import seed_step
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport

_CHUNK = 1 << 16  # rows of features at a time, of which a rank keeps its columns


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNodes:
    """The consecutive nodes whose rows a rank computes."""

    inner_nodes: NDArray[np.int64]

    @property
    def num_inner(self) -> int:
        return len(self.inner_nodes)


class ColumnRunner:
    """Runs a model on the own rows of a rank, together with the other ranks. All ranks make it together.

    Parameters
    ----------
    graph : Graph
        All of it: every rank has all edges, its own rows of the features and its own columns.
    transport : Transport
    device, dtype
        Where and in what precision the model computes.
    recorder : Recorder, optional
        Gets the time of every exchange.
    """

    def __init__(
        self,
        graph: Graph,
        transport: Transport,
        device: torch.device,
        dtype: torch.dtype,
        recorder: Recorder | None = None,
    ) -> None:
        self.exchange = ColumnExchange(graph.num_nodes, transport, recorder)
        first, last = self.exchange.first, self.exchange.last
        self.part = OwnNodes(inner_nodes=np.arange(first, last))
        rows, columns = _features(graph, self.exchange)
        inputs = ModelInputs(
            x=as_tensor(rows, device, dtype),
            edge_index=torch.from_numpy(graph.edge_index()).to(device),
            edge_weight=edge_column(graph, WEIGHT, slice(None), device, dtype),
            edge_attr=edge_column(graph, ATTRIBUTES, slice(None), device, dtype),
        )
        self._data = ColumnData(inputs, as_tensor(columns, device, dtype))
        everyone = torch.arange(graph.num_nodes, device=device)
        self._rows = KeyedRows(everyone[first:last], last - first, inputs.edge_index, edge_nodes=everyone)

    def forward(
        self, module: nn.Module, kinds: Kinds = TRANSPOSES, dropout_key: tuple[int, ...] | None = None
    ) -> Tensor:
        """Return (num_own, out_channels) the outputs of the own nodes; all ranks call it."""
        watch, boundary = MessageWatch(), Columns(self.exchange, self._data, kinds)
        keyed = nullcontext() if dropout_key is None else KeyedDropout(self._rows, dropout_key, watch)
        with attached(module, boundary), watch.on(module), no_way_around(module), keyed:
            outputs = call_model(module, self._data.inputs)
        if not isinstance(outputs, Tensor) or len(outputs) != self.part.num_inner:
            got = str(tuple(outputs.shape)) if isinstance(outputs, Tensor) else type(outputs).__name__
            raise RunError(
                f"model {type(module).__name__}: expected one row a node ({self.part.num_inner} own nodes); got {got}"
            )
        return outputs


def _features(graph: Graph, exchange: ColumnExchange) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the own rows and the own columns of the features, read in chunks."""
    whole, columns = graph.x, exchange.own_columns(graph.num_features)
    own_columns = np.empty((graph.num_nodes, columns.stop - columns.start), np.float32)
    for first in range(0, graph.num_nodes, _CHUNK):
        nodes = np.arange(first, min(first + _CHUNK, graph.num_nodes))
        own_columns[nodes] = whole[nodes][:, columns]
    return np.asarray(whole[np.arange(exchange.first, exchange.last)]), own_columns


class FeatureRun:
    """``feature_parallel`` at work on one rank."""

    steps_per_epoch = 1

    def __init__(self, job: Job, *, keyed: bool) -> None:
        context, graph = job.context, job.context.graph
        self._num_epochs, self._num_edges = context.config.epochs, graph.num_edges
        dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._runner = ColumnRunner(graph, context.transport, context.device, dtype, job.recorder)
        self.inference = PartInference(self._runner, context.transport)
        exchange = self._runner.exchange
        train_nodes = job.task.labelled(graph, graph.train_nodes)
        own = train_nodes[(train_nodes >= exchange.first) & (train_nodes < exchange.last)]
        self._train_nodes = torch.from_numpy(own - exchange.first).to(context.device)
        self._targets = torch.from_numpy(graph.y[own]).to(context.device)
        self._rng_seed = context.config.rng_seed if keyed else None

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        for epoch in range(first_step, self._num_epochs + 1):  # one step an epoch
            yield StepWork(
                epoch=epoch,
                step=epoch,
                num_seeds=len(self._train_nodes),
                num_nodes=self._runner.part.num_inner,
                num_edges=self._num_edges,
                targets=self._targets,
                forward=partial(self._forward, step=epoch),
                joins=True,
            )

    def _forward(self, module: nn.Module, step: int) -> Tensor:
        key = None if self._rng_seed is None else (self._rng_seed, step)
        if key is not None:  # what else the model draws, all ranks draw alike: they make the same calls
            seed_step(key[0], step, step, rank=0)
        return self._runner.forward(module, dropout_key=key)[self._train_nodes]

    def close(self) -> None:
        """Nothing is held open."""
