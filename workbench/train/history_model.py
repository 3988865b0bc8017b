"""A model on batches of histories: which of its calls read them, and one forward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.models import ModelInputs, call_model
from workbench.train.boundaries.history import Exchange, History
from workbench.train.boundary import BoundaryError, Call, attached
from workbench.train.graph_statistics import GraphStatistics
from workbench.train.history import Slot, width_of
from workbench.train.history_batch import HistoryBatch, batch_of
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlan:
    """What a model's message-passing calls read.

    Parameters
    ----------
    slots : tuple of Slot
        Of the calls that read rows which other calls have computed.
    layers : tuple of Module
        The layer of every call.
    padded : bool
        Whether outputs keep the height of the inputs.
    """

    slots: tuple[Slot, ...]
    layers: tuple[nn.Module, ...]
    padded: bool

    @property
    def width(self) -> int:
        return width_of(self.slots)

    def slot_of(self, call: Call) -> Slot | None:
        """Return where the rows of a call lie, or None where it reads no history.

        Raises
        ------
        BoundaryError
            Where the model makes other calls than when it was looked at.
        """
        if call.index >= len(self.layers) or self.layers[call.index] is not call.layer:
            raise BoundaryError(
                f"{type(call.layer).__name__}: expected the message-passing calls of the first look at the model, in "
                f"their order; got another one as call {call.index + 1}. Histories belong to calls: let none be skipped"
            )
        return next((slot for slot in self.slots if slot.index == call.index), None)


def inputs_of(
    graph: Graph, batch: HistoryBatch, x: Tensor, device: torch.device, dtype: torch.dtype
) -> tuple[ModelInputs, Tensor]:
    """Return what a model is given for a batch, and the ids of its nodes."""
    inputs = ModelInputs(
        x=x,
        edge_index=torch.from_numpy(batch.edge_index).to(device),
        edge_weight=edge_column(graph, WEIGHT, batch.edge_ids, device, dtype),
        edge_attr=edge_column(graph, ATTRIBUTES, batch.edge_ids, device, dtype),
    )
    return inputs, torch.from_numpy(batch.node_ids).to(device)


def forward_batch(
    module: nn.Module,
    inputs: ModelInputs,
    node_ids: Tensor,
    num_own: int,
    *,
    plan: HistoryPlan,
    exchange: Exchange,
    statistics: GraphStatistics,
) -> Tensor:
    """Return (num_own, out_channels) the outputs of a batch's own nodes, the others' rows being of the histories."""
    boundary = History(
        inputs,
        node_ids,
        num_own,
        reads=lambda call: plan.slot_of(call) is not None,
        exchange=exchange,
        statistics=statistics,
        padded=plan.padded,
    )
    with attached(module, boundary):
        outputs = call_model(module, inputs)
    return own_rows(module, outputs, num_own, len(node_ids))


def own_rows(module: nn.Module, outputs: object, num_own: int, num_nodes: int) -> Tensor:
    """Return the own rows of a model's output, which has one row a node."""
    if not isinstance(outputs, Tensor) or len(outputs) not in (num_own, num_nodes):
        got = str(tuple(outputs.shape)) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise RunError(f"model {type(module).__name__}: expected one row a node ({num_own} own nodes); got {got}")
    return outputs[:num_own]


@torch.no_grad()
def look_at(module: nn.Module, graph: Graph, device: torch.device, dtype: torch.dtype, *, padded: bool) -> HistoryPlan:
    """Return which calls of a module read histories, and of what shape: found by one forward on half of a graph.

    Parameters
    ----------
    graph : Graph
        A little one; half of its nodes are a batch.
    """
    batch = batch_of(graph, np.arange((graph.num_nodes + 1) // 2))
    x = as_tensor(graph.x[batch.node_ids], device, dtype)
    inputs, node_ids = inputs_of(graph, batch, x, device, dtype)
    slots: list[Slot] = []
    layers: list[nn.Module] = []
    num_own, num_halo = batch.num_own, len(batch.halo_ids)

    def reads(call: Call) -> bool:
        layers.append(call.layer)
        # Rows of all nodes have passed no call yet. Where there are no others, nobody can tell.
        return call.index > 0 and (padded or num_halo == 0 or len(call.x) == num_own)

    def exchange(call: Call, own: Tensor) -> Tensor:
        shape = tuple(own.shape[1:])
        slots.append(Slot(index=call.index, layer=call.layer, shape=shape, first=width_of(slots)))
        return own.new_zeros(num_halo, *shape)

    in_training = [layer for layer in module.modules() if layer.training]
    module.eval()
    statistics = GraphStatistics(graph, device)
    boundary = History(inputs, node_ids, num_own, reads=reads, exchange=exchange, statistics=statistics, padded=padded)
    try:
        with attached(module, boundary):
            call_model(module, inputs)
    finally:
        for layer in in_training:  # one by one: a person may have frozen some
            layer.training = True
    return HistoryPlan(slots=tuple(slots), layers=tuple(layers), padded=padded)


def pushing(plan: HistoryPlan, push: Callable[[Slot, Tensor], None], pulled: Tensor, device: torch.device) -> Exchange:
    """Return an exchange that hands own rows to `push` and answers with columns of `pulled` (num_halo, width)."""

    def exchange(call: Call, own: Tensor) -> Tensor:
        slot = plan.slot_of(call)
        assert slot is not None, "asked for calls that read histories"
        if tuple(own.shape[1:]) != slot.shape:
            raise BoundaryError(
                f"{type(call.layer).__name__} (message-passing call {call.index + 1}): expected rows of shape "
                f"{slot.shape}, as in the first look at the model; got {tuple(own.shape[1:])}"
            )
        push(slot, own)
        return pulled[:, slot.columns].reshape(len(pulled), *slot.shape).to(device=device, dtype=own.dtype)

    return exchange
