"""Message-passing layers one after another, with ReLU and dropout between them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class ConvStack(nn.Module):
    """A plain stack of PyG layers.

    Parameters
    ----------
    layers : sequence of Module
        The layers, first to last.
    dropout : float
        Share of values set to zero before each layer but the first.
    dropout_first : bool
        Whether the features lose values too, as in Kipf & Welling's GCN.
    weighted : bool
        Whether the layers take ``edge_weight``.
    """

    def __init__(
        self, layers: Sequence[nn.Module], *, dropout: float, dropout_first: bool = False, weighted: bool = False
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout, self.dropout_first, self.weighted = dropout, dropout_first, weighted

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return (num_nodes, out_channels) for (num_nodes, in_channels) and (2, num_edges)."""
        for depth, layer in enumerate(self.layers):
            if depth > 0:
                x = torch.relu(x)
            if depth > 0 or self.dropout_first:
                x = functional.dropout(x, self.dropout, self.training)
            x = layer(x, edge_index, edge_weight) if self.weighted else layer(x, edge_index)
        return x
