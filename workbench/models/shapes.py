"""The models that are no stack: predictions that spread, and one layer applied again and again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.models.stack import columns_of


class PredictThenPropagate(nn.Module):
    """A perceptron over each node's own features, then one layer that spreads what it says.

    Parameters
    ----------
    widths : sequence of int
        Columns of the features, of the hidden layers, and of the outputs.
    layer : Module
        Takes ``(x, edge_index, edge_weight)`` and keeps the width.
    dropout : float
        Share of values set to zero before each linear map.
    weighted : bool
        Whether the layer is given the edge weights.
    """

    def __init__(self, widths: Sequence[int], layer: nn.Module, *, dropout: float, weighted: bool) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.layer, self.dropout, self.weighted = layer, dropout, weighted

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return (num_nodes, out_channels) for (num_nodes, in_channels) and (2, num_edges)."""
        for depth, linear in enumerate(self.linears):
            x = functional.dropout(torch.relu(x) if depth else x, self.dropout, self.training)
            x = linear(x)
        spread: Tensor = self.layer(x, edge_index, edge_weight if self.weighted else None)
        return spread


class RecurrentMessages(nn.Module):
    """One layer applied `num_rounds` times; a gated unit makes of each message a node's next row.

    Parameters
    ----------
    in_channels, out_channels : int
        Columns of the features and of the outputs.
    layer : Module
        Takes ``(x, edge_index, edge_attr)`` and keeps the width.
    width : int
        Columns of the rows that pass messages.
    num_rounds : int
    dropout : float
        Share of the last rows set to zero.
    """

    def __init__(
        self, in_channels: int, out_channels: int, layer: nn.Module, width: int, num_rounds: int, *, dropout: float
    ) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(in_channels, width), nn.Linear(width, out_channels)
        self.layer, self.unit = layer, nn.GRUCell(width, width)
        self.num_rounds, self.dropout = num_rounds, dropout

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        """Return (num_nodes, out_channels) for (num_nodes, in_channels), (2, num_edges) and (num_edges, k)."""
        x, edge_attr = torch.relu(self.first(x)), columns_of(edge_attr)
        for _ in range(self.num_rounds):
            x = self.unit(torch.relu(self.layer(x, edge_index, edge_attr)), x)
        outputs: Tensor = self.head(functional.dropout(x, self.dropout, self.training))
        return outputs
