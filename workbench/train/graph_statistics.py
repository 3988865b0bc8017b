"""Adapters' numbers of every node of a graph that lies in reach: found out once, piece by piece."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from workbench.train.call import BoundaryError, Call
from workbench.train.pieces import PieceMaker, piece_bounds
from workbench.train.whole import WEIGHT, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.models import ModelInputs

_MAX_EDGES = 1 << 22  # of a piece


class GraphStatistics:
    """Degrees as layers count them, by the edges of the whole graph; kept from batch to batch.

    Parameters
    ----------
    graph : Graph
    device : torch.device
    """

    def __init__(self, graph: Graph, device: torch.device) -> None:
        self._graph, self._device = graph, device
        self._found: dict[Hashable, Tensor] = {}

    def of(self, call: Call, inputs: ModelInputs, node_ids: Tensor, num_own: int) -> Tensor:
        """Return (k,) the call's adapter's number of some nodes.

        Parameters
        ----------
        call : Call
            Of a layer with an adapter.
        inputs : ModelInputs
            Of the batch.
        node_ids : Tensor
            (k,) global ids of the batch's nodes, `num_own` own ones first.

        Raises
        ------
        BoundaryError
            Where the model has made edges or weights of its own: nobody knows what it would make of the others.
        """
        adapter, weight = call.adapter, call.edge_weight
        assert adapter is not None, "asked for layers with an adapter"
        if not adapter.reads_degrees:
            return adapter.degree(call, num_own, len(node_ids))
        if call.edge_index is not inputs.edge_index or not (weight is None or weight is inputs.edge_weight):
            raise BoundaryError(
                f"{type(call.layer).__name__} (message-passing call {call.index + 1}): expected the graph's own edges "
                "and weights, whose degrees are known beyond the batch; got others that the model has made"
            )
        key = (type(adapter), adapter.key(call.layer), weight is None, call.x.dtype)
        if key not in self._found:
            self._found[key] = self._all(call)
        return self._found[key][node_ids]

    @torch.no_grad()
    def _all(self, call: Call) -> Tensor:
        graph, adapter = self._graph, call.adapter
        assert adapter is not None, "asked for layers with an adapter"
        total = call.x.new_zeros(graph.num_nodes).detach()
        maker, bounds = PieceMaker(graph), piece_bounds(graph.indptr, max_edges=_MAX_EDGES, world_size=1)
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            piece = maker.make(begin, end)
            node_ids = torch.from_numpy(piece.node_ids).to(self._device)
            values = {"x": call.x.new_zeros(len(node_ids), 1), "edge_weight": None}
            values["edge_index"] = torch.from_numpy(piece.edge_index).to(self._device)
            if call.edge_weight is not None:
                values["edge_weight"] = edge_column(graph, WEIGHT, piece.edge_ids, self._device, call.x.dtype)
            part = Call(layer=call.layer, index=call.index, values=values, adapter=adapter)
            total.index_add_(0, node_ids, adapter.degree(part, piece.num_own, len(node_ids)))
        return adapter.finish(total)
