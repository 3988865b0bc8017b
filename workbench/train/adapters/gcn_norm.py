"""Layers that weight their edges by ``D^-1/2 (A + I) D^-1/2``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import add_remaining_self_loops, scatter

from workbench.train.adapter import ADAPTERS, Adapter
from workbench.train.boundary import Call


@ADAPTERS.register("gcn_norm")
@dataclass(frozen=True, slots=True, kw_only=True)
class GcnNorm(Adapter):
    """GCNConv: an edge's weight is divided by the roots of the degrees at both ends.

    The statistic is ``1 / sqrt(d_v)`` with ``d_v = 1 + sum of the weights of v's in-edges``; the layer is then called
    with the finished weights and its own normalisation turned off.
    """

    def fits(self, layer: nn.Module) -> bool:
        return type(layer) is GCNConv and bool(layer.normalize)

    def key(self, layer: nn.Module) -> Hashable:
        return (layer.improved, layer.add_self_loops)

    def statistic(self, call: Call, num_nodes: int) -> Tensor:
        x = call.x
        edge_index, weight = _with_loops(call.layer, call.edge_index, call.edge_weight, num_nodes, x.dtype)
        degree = scatter(weight, edge_index[1], dim=0, dim_size=num_nodes, reduce="sum")
        root: Tensor = degree.pow(-0.5)
        return root.masked_fill(root == torch.inf, 0.0)

    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        edge_index, weight = _with_loops(call.layer, call.edge_index, call.edge_weight, num_outputs, call.x.dtype)
        source, destination = edge_index
        call.set(edge_index=edge_index, edge_weight=statistic[source] * weight * statistic[destination])
        call.layer.normalize = False  # type: ignore[assignment]

    def restore(self, call: Call) -> None:
        call.layer.normalize = True  # type: ignore[assignment]


def _with_loops(
    layer: Any, edge_index: Tensor, weight: Tensor | None, num_nodes: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return the edges with a self-loop on each of the first nodes, in the order in which PyG's gcn_norm has them."""
    if layer.add_self_loops:
        fill = 2.0 if layer.improved else 1.0
        edge_index, weight = add_remaining_self_loops(edge_index, weight, fill, num_nodes)
    if weight is None:
        weight = torch.ones(edge_index.shape[1], dtype=dtype, device=edge_index.device)
    return edge_index, weight
