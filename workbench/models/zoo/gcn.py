"""Graph convolutional network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.core.params import param
from workbench.models.base import MODELS, LinearStackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("gcn")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gcn(LinearStackSpec):
    """GCN: each layer averages over neighbours, weighted by degrees.

    ``H' = D^-1/2 (A + I) D^-1/2 H W``, ReLU and dropout between layers, dropout on the features too. Kipf & Welling,
    "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017, arXiv 1609.02907.
    """

    drops_features: ClassVar[bool] = True
    linear_before: ClassVar[str | None] = "lin"

    weighted: bool = param(True, help="use the graph's edge weights, where it has some")

    @property
    def reads(self) -> str | None:
        return "edge_weight" if self.weighted else None

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import GCNConv  # seconds to import: only where a model is built

        layer: nn.Module = GCNConv(in_channels, out_channels)
        return layer
