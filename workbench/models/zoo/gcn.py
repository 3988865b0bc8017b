"""Graph convolutional network."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, ModelSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("gcn")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gcn(ModelSpec):
    """GCN: each layer averages over neighbours, weighted by degrees.

    ``H' = D^-1/2 (A + I) D^-1/2 H W``, ReLU and dropout between layers. Kipf & Welling, "Semi-Supervised
    Classification with Graph Convolutional Networks", ICLR 2017, arXiv 1609.02907.
    """

    hidden_channels: int = param(256, help="width of the hidden layers", minimum=1)
    num_layers: int = param(2, help="message-passing layers", minimum=1)
    dropout: float = param(0.5, help="share of inputs of each layer set to zero in training", minimum=0, maximum=1)

    @property
    def num_propagations(self) -> int:
        return self.num_layers

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from torch_geometric.nn import GCNConv  # seconds to import: only where a model is built

        from workbench.models.stack import ConvStack

        widths = [in_channels, *[self.hidden_channels] * (self.num_layers - 1), out_channels]
        layers = [GCNConv(a, b) for a, b in itertools.pairwise(widths)]
        return ConvStack(layers, dropout=self.dropout, dropout_first=True, weighted=True)
