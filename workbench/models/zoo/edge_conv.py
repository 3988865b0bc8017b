"""EdgeConv."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, StackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("edge_conv")
@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeConvolution(StackSpec):
    """EdgeConv: each layer applies a perceptron to a node's row and its difference to a neighbour's.

    ``h_v' = max_{u in N(v)} MLP([h_v, h_u - h_v])``, the perceptron of two linear maps, ReLU and dropout between
    layers; a node without in-edges gets zeros. Wang et al., "Dynamic Graph CNN for Learning on Point Clouds", ACM
    Transactions on Graphics 2019, arXiv 1801.07829.
    """

    aggregation: str = param("max", help="how messages are joined", choices=("max", "mean", "sum"))

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import EdgeConv  # seconds to import: only where a model is built

        from workbench.models.stack import perceptron

        inner = perceptron(2 * in_channels, self.hidden_channels, out_channels)
        layer: nn.Module = EdgeConv(inner, aggr=self.aggregation)
        return layer
