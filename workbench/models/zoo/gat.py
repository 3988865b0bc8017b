"""Graph attention network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.models.attention import AttentionSpec
from workbench.models.base import MODELS

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("gat")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gat(AttentionSpec):
    """GAT: each layer averages over neighbours and the node itself, weighted by attention.

    ``h_v' = sum_u a_vu W h_u`` with ``a_vu = softmax_u(leaky_relu(a . [W h_v, W h_u]))``, ELU and dropout between
    layers, dropout on the features too. The paper's model for Cora: ``hidden_channels=64, heads=8, dropout=0.6,
    attention_dropout=0.6``. Velickovic et al., "Graph Attention Networks", ICLR 2018, arXiv 1710.10903.
    """

    activation: ClassVar[str] = "elu"
    drops_features: ClassVar[bool] = True

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import GATConv  # seconds to import: only where a model is built

        layer: nn.Module = GATConv(in_channels, **self.head_arguments(out_channels, is_last=is_last))
        return layer
