"""Layers that weight their edges by ``D^-1/2 (A + I) D^-1/2``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import add_remaining_self_loops, scatter

from workbench.train.adapter import ADAPTERS, Adapter
from workbench.train.call import Call


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
        return loop_weight(layer)

    def degree(self, call: Call, num_own: int, num_nodes: int) -> Tensor:
        return in_degree(call, loop_weight(call.layer), num_own, num_nodes)

    def finish(self, degree: Tensor) -> Tensor:
        return inverse_root(degree)

    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        edge_index, weight = normalised(call, loop_weight(call.layer), statistic, num_outputs)
        call.set(edge_index=edge_index, edge_weight=weight)
        call.layer.normalize = False  # type: ignore[assignment]

    def restore(self, call: Call) -> None:
        call.layer.normalize = True  # type: ignore[assignment]


def loop_weight(layer: nn.Module) -> float | None:
    """Return the weight of the self-loop that a layer adds to a node without one, or None where it adds none."""
    if not getattr(layer, "add_self_loops", False):
        return None
    return 2.0 if getattr(layer, "improved", False) else 1.0


def in_degree(call: Call, loop: float | None, num_own: int, num_nodes: int) -> Tensor:
    """Return (num_nodes,) the summed weights of the in-edges, loops on the first `num_own` nodes included."""
    edge_index, weight = _with_loops(call, loop, num_own)
    degree: Tensor = scatter(weight, edge_index[1], dim=0, dim_size=num_nodes, reduce="sum")
    return degree


def inverse_root(degree: Tensor) -> Tensor:
    """Return ``degree ** -0.5``, 0 where the degree is 0."""
    root = degree.pow(-0.5)
    return root.masked_fill(root == torch.inf, 0.0)


def normalised(call: Call, loop: float | None, statistic: Tensor, num_outputs: int) -> tuple[Tensor, Tensor]:
    """Return edges with loops on the first nodes, and their weights between the statistics of both ends."""
    edge_index, weight = _with_loops(call, loop, num_outputs)
    source, destination = edge_index
    return edge_index, statistic[source] * weight * statistic[destination]


def _with_loops(call: Call, loop: float | None, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Return the edges with a self-loop on each of the first nodes, in the order in which PyG's gcn_norm has them."""
    edge_index, weight = call.edge_index, call.edge_weight
    if weight is None:
        weight = torch.ones(edge_index.shape[1], dtype=call.x.dtype, device=edge_index.device)
    if loop is not None:
        edge_index, weight = add_remaining_self_loops(edge_index, weight, loop, num_nodes)
        assert weight is not None, "it was given"
    return edge_index, weight
