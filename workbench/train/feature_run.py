"""Full-batch training with the features divided: rows for what is computed of a node, columns for its messages."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.models import ModelInputs, call_model
from workbench.train.base import Job
from workbench.train.boundaries.columns import ColumnData, Columns
from workbench.train.boundary import attached
from workbench.train.columns import TRANSPOSES, ColumnExchange
from workbench.train.full_batch import FullBatchRun, precision_of
from workbench.train.halo import Kinds
from workbench.train.keyed_dropout import KeyedDropout, KeyedRows
from workbench.train.message_watch import MessageWatch
from workbench.train.part_runner import PartInference, no_way_around, one_row_a_node
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
        return one_row_a_node(module, outputs, self.part.num_inner)


def _features(graph: Graph, exchange: ColumnExchange) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the own rows and the own columns of the features, read in chunks."""
    whole, columns = graph.x, exchange.own_columns(graph.num_features)
    rows = np.asarray(whole[np.arange(exchange.first, exchange.last)])
    own_columns = np.empty((graph.num_nodes, columns.stop - columns.start), rows.dtype)
    for first in range(0, graph.num_nodes, _CHUNK):
        nodes = np.arange(first, min(first + _CHUNK, graph.num_nodes))
        own_columns[nodes] = whole[nodes][:, columns]
    return rows, own_columns


class FeatureRun(FullBatchRun):
    """``feature_parallel`` at work on one rank."""

    def __init__(self, job: Job, *, keyed: bool) -> None:
        context, dtype = job.context, precision_of(job.module)
        self._runner = ColumnRunner(context.graph, context.transport, context.device, dtype, job.recorder)
        self.inference = PartInference(self._runner, context.transport)
        self._rng_seed = context.config.rng_seed if keyed else None
        exchange = self._runner.exchange
        super().__init__(job, context.graph, slice(exchange.first, exchange.last))

    def _forward(self, module: nn.Module, step: int) -> Tensor:
        key = None if self._rng_seed is None else (self._rng_seed, step)
        if key is not None:  # what else the model draws, all ranks draw alike: they make the same calls
            seed_step(key[0], step, step, rank=0)
        return self._runner.forward(module, dropout_key=key)
