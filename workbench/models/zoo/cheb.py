"""ChebNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, LinearStackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("cheb")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cheb(LinearStackSpec):
    """ChebNet: each layer is a polynomial of degree K - 1 in the scaled Laplacian.

    ``H' = sum_{k < K} T_k(L~) H W_k`` with ``T_k`` the Chebyshev polynomials and ``L~ = -D^-1/2 A D^-1/2``: K - 1
    rounds of messages a layer. Defferrard, Bresson & Vandergheynst, "Convolutional Neural Networks on Graphs with
    Fast Localized Spectral Filtering", NeurIPS 2016, arXiv 1606.09375.
    """

    K: int = param(3, help="terms of each layer's polynomial: one more than the hops that it reads", minimum=2)
    weighted: bool = param(True, help="use the graph's edge weights, where it has some")

    @property
    def num_propagations(self) -> int:
        return self.num_layers * (self.K - 1)

    @property
    def reads(self) -> str | None:
        return "edge_weight" if self.weighted else None

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import ChebConv  # seconds to import: only where a model is built

        layer: nn.Module = ChebConv(in_channels, out_channels, K=self.K)
        return layer
