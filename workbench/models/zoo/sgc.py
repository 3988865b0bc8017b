"""Simple graph convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, ModelSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("sgc")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sgc(ModelSpec):
    """SGC: K rounds of averaging, then one linear map; nothing non-linear.

    ``Y = S^K X W + b`` with ``S = D^-1/2 (A + I) D^-1/2``. Wu et al., "Simplifying Graph Convolutional Networks",
    ICML 2019, arXiv 1902.07153.
    """

    K: int = param(2, help="rounds of averaging: the hops that it reads", minimum=1)
    dropout: float = param(0.0, help="share of the features set to zero in training", minimum=0, maximum=1)
    weighted: bool = param(True, help="use the graph's edge weights, where it has some")
    sparse: bool = param(False, help="aggregate by sparse matrix products instead of a message for every edge")

    @property
    def num_propagations(self) -> int:
        return self.K

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from torch_geometric.nn import SGConv  # seconds to import: only where a model is built

        from workbench.models.sparse import Structures, aggregate_sparsely
        from workbench.models.stack import ConvStack, Surroundings

        layer = SGConv(in_channels, out_channels, K=self.K)
        if self.sparse:
            aggregate_sparsely(layer, Structures(), after="lin")
        reads = "edge_weight" if self.weighted else None
        surroundings = Surroundings(dropout=self.dropout, drops_features=True, reads=reads)
        return ConvStack([layer], [(in_channels, out_channels)], out_channels, surroundings)
