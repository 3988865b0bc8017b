"""Diagonal enhancement of Cluster-GCN: a node's own row counts more in every graph convolution."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch_geometric.nn import GCNConv, MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from workbench.core.errors import RunError


def enhance(module: nn.Module, strength: float) -> Callable[[], None]:
    """Let every GCNConv of a module use ``A~ + strength * diag(A~)``, and return what undoes it.

    ``A~`` is what the layer uses without: ``D^-1/2 (A + I) D^-1/2`` of the nodes and edges it is given. The paper's
    equations 10 and 11 have ``(D + I)^-1 (A + I)`` in its place: the same diagonal, ``1 / d_v``, with rows that sum to
    one. It holds wherever the layers run: in training, behind every boundary, and in exact inference.

    Raises
    ------
    RunError
        Where a message-passing layer has no such matrix: any but a GCNConv that normalises and adds self-loops.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, MessagePassing)]
    for layer in layers:
        if type(layer) is not GCNConv or not (layer.normalize and layer.add_self_loops):
            raise RunError(
                f"diagonal_enhancement: expected GCNConv layers that normalise and add self-loops; got {layer} in "
                f"{type(module).__name__}. Fix: use model='gcn', or remove diagonal_enhancement="
            )
    if not layers:
        raise RunError(
            f"diagonal_enhancement: expected GCNConv layers; got none in {type(module).__name__}. Fix: remove it"
        )
    for layer in layers:
        layer.forward = functools.partial(_forward, layer, strength)

    def undo() -> None:
        for layer in layers:
            layer.__dict__.pop("forward", None)

    return undo


def _forward(layer: Any, strength: float, x: Any, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
    """Run a layer on finished weights; innermost, so that a boundary's own normalisation is found done."""
    was_normalising = layer.normalize
    if was_normalising:
        edge_index, edge_weight = gcn_norm(
            edge_index, edge_weight, x.size(layer.node_dim), layer.improved, True, layer.flow, x.dtype
        )
    assert edge_weight is not None, "finished above, or by a boundary"
    is_loop = edge_index[0] == edge_index[1]
    layer.normalize = False
    try:
        weight = edge_weight * (1 + strength * is_loop.to(edge_weight.dtype))
        output: Tensor = GCNConv.forward(layer, x, edge_index, weight)
    finally:
        layer.normalize = was_normalising
    return output
