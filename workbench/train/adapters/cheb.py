"""Chebyshev polynomials of a graph's Laplacian."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv
from torch_geometric.utils import add_self_loops, remove_self_loops, scatter

from workbench.train.adapter import ADAPTERS, Adapter
from workbench.train.adapters.gcn_norm import inverse_root
from workbench.train.call import BoundaryError, Call


@ADAPTERS.register("cheb")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cheb(Adapter):
    """ChebConv with a normalised Laplacian: each propagation multiplies by ``2 L / lambda_max - I``.

    PyG takes degrees over the edges that leave a node, self-loops left out. Without ``lambda_max`` it takes twice the
    largest entry of L, which is 2 where no weight is negative.
    """

    by_propagate: ClassVar[bool] = True
    weight_name: ClassVar[str] = "norm"
    at_source: ClassVar[bool] = True

    def fits(self, layer: nn.Module) -> bool:
        return type(layer) is ChebConv and layer.normalization is not None

    def key(self, layer: nn.Module) -> Hashable:
        return "out_degree"

    def degree(self, call: Call, num_own: int, num_nodes: int) -> Tensor:
        edge_index, weight = _without_loops(call)
        degree: Tensor = scatter(weight, edge_index[0], dim=0, dim_size=num_nodes, reduce="sum")
        return degree

    def finish(self, degree: Tensor) -> Tensor:
        return degree

    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        edge_index, weight = _without_loops(call)
        source, destination = edge_index
        if call.layer.normalization == "sym":
            root = inverse_root(statistic)
            weight = root[source] * weight * root[destination]
        else:
            inverse = statistic.pow(-1)
            weight = inverse.masked_fill(inverse == torch.inf, 0.0)[source] * weight
        edge_index, laplacian = add_self_loops(edge_index, -weight, fill_value=1.0, num_nodes=num_outputs)
        assert isinstance(laplacian, Tensor), "weights were given"
        entries = 2.0 * laplacian / _lambda_max(call)
        entries = torch.where(edge_index[0] == edge_index[1], entries - 1.0, entries)
        call.set(edge_index=edge_index, edge_weight=entries, size=(len(call.x), num_outputs))

    def set_aside(self, call: Call) -> None:
        Adapter.set_aside(self, call)
        call.set(lambda_max=call.x.new_tensor(2.0))  # else it would look for the largest of no entries


def _without_loops(call: Call) -> tuple[Tensor, Tensor]:
    edge_index, weight = remove_self_loops(call.edge_index, call.edge_weight)
    if weight is None:
        weight = torch.ones(edge_index.shape[1], dtype=call.x.dtype, device=edge_index.device)
    return edge_index, weight


def _lambda_max(call: Call) -> Any:
    given, weight = call.values.get("lambda_max"), call.edge_weight
    if given is None:
        if weight is not None and bool((weight < 0).any()):
            raise BoundaryError(
                f"ChebConv (message-passing call {call.index + 1}): expected lambda_max where weights are negative; "
                "got none. Fix: pass lambda_max= to the layer"
            )
        return 2.0
    if isinstance(given, Tensor) and given.numel() > 1:
        raise BoundaryError("ChebConv: expected one lambda_max; got one a graph. Fix: pass a number")
    return given
