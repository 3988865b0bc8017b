"""GraphSAGE."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, ModelSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("sage")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sage(ModelSpec):
    """GraphSAGE: each layer joins a node's own row with the mean (or maximum) over its neighbours.

    ``h_v' = W_1 h_v + W_2 mean_{u in N(v)} h_u``, ReLU and dropout between layers. Hamilton, Ying & Leskovec,
    "Inductive Representation Learning on Large Graphs", NeurIPS 2017, arXiv 1706.02216.
    """

    hidden_channels: int = param(256, help="width of the hidden layers", minimum=1)
    num_layers: int = param(2, help="message-passing layers", minimum=1)
    dropout: float = param(0.5, help="share of hidden values set to zero in training", minimum=0, maximum=1)
    aggregation: str = param("mean", help="how neighbours are joined", choices=("mean", "max", "sum"))

    @property
    def num_propagations(self) -> int:
        return self.num_layers

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from torch_geometric.nn import SAGEConv  # seconds to import: only where a model is built

        from workbench.models.stack import ConvStack

        widths = [in_channels, *[self.hidden_channels] * (self.num_layers - 1), out_channels]
        layers = [SAGEConv(a, b, aggr=self.aggregation) for a, b in itertools.pairwise(widths)]
        return ConvStack(layers, dropout=self.dropout)
