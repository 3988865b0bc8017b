"""Graph isomorphism network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, LinearStackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("gin")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gin(LinearStackSpec):
    """GIN: each layer applies a perceptron to the sum of a node's row and its neighbours'.

    ``h_v' = MLP((1 + eps) h_v + sum_{u in N(v)} h_u)``, the perceptron of two linear maps, ReLU and dropout between
    layers. Xu et al., "How Powerful are Graph Neural Networks?", ICLR 2019, arXiv 1810.00826.
    """

    eps: float = param(0.0, help="how much more a node's own row counts (its start, where it is trained)")
    train_eps: bool = param(False, help="whether eps is trained")

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import GINConv  # seconds to import: only where a model is built

        from workbench.models.stack import perceptron

        inner = perceptron(in_channels, self.hidden_channels, out_channels)
        layer: nn.Module = GINConv(inner, eps=self.eps, train_eps=self.train_eps)
        return layer
