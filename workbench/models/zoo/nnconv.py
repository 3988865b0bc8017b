"""Message-passing network whose edge features choose the map of each message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, ModelSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("nnconv")
@dataclass(frozen=True, slots=True, kw_only=True)
class NnConv(ModelSpec):
    """MPNN with edge networks: a network makes of each edge's features the matrix that its message is multiplied by.

    ``m_v = W h_v + mean_{u in N(v)} A(e_uv) h_u``, ``h_v' = GRU(relu(m_v), h_v)``, the same weights in every round; a
    linear map before the first and after the last. It keeps hidden_channels^2 numbers an edge: choose a small width.
    Gilmer et al., "Neural Message Passing for Quantum Chemistry", ICML 2017, arXiv 1704.01212.
    """

    edge_channels: int = param(1, help="columns of the graph's edge features (attr)", minimum=1)
    hidden_channels: int = param(16, help="width of the rows that pass messages", minimum=1)
    edge_hidden_channels: int = param(32, help="width of the network of edges", minimum=1)
    num_layers: int = param(2, help="rounds of messages", minimum=1)
    dropout: float = param(0.0, help="share of the last rows set to zero in training", minimum=0, maximum=1)
    aggregation: str = param("mean", help="how messages are joined", choices=("mean", "sum", "max"))

    @property
    def num_propagations(self) -> int:
        return self.num_layers

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from torch_geometric.nn import NNConv  # seconds to import: only where a model is built

        from workbench.models.shapes import RecurrentMessages
        from workbench.models.stack import perceptron

        width = self.hidden_channels
        edge_network = perceptron(self.edge_channels, self.edge_hidden_channels, width * width)
        layer = NNConv(width, width, edge_network, aggr=self.aggregation)
        return RecurrentMessages(in_channels, out_channels, layer, width, self.num_layers, dropout=self.dropout)
