"""What a task puts behind a model: a readout over graphs, a decoder of links. The model itself stays as it is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workbench.models import ModelInputs, call_model


class ReadOut(nn.Module):
    """A model of nodes that gives one row a graph: the mean, sum or maximum over the graph's nodes.

    Parameters
    ----------
    encoder : Module
        Returns (num_nodes, out_channels).
    how : str
        ``mean``, ``sum`` or ``max``.
    """

    def __init__(self, encoder: nn.Module, how: str) -> None:
        super().__init__()
        self.encoder, self.how = encoder, how

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
    ) -> Tensor:
        """Return (num_graphs, out_channels); without `batch` all nodes are of one graph."""
        inputs = ModelInputs(x=x, edge_index=edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
        rows: Tensor = call_model(self.encoder, inputs)
        if batch is None:
            batch = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        return pool(rows, batch, self.how)


def pool(rows: Tensor, batch: Tensor, how: str) -> Tensor:
    """Return one row a graph: the mean, sum or maximum of its nodes' rows; every graph has a node."""
    num_graphs = int(batch.max()) + 1 if len(batch) else 0
    if how == "max":
        index = batch[:, None].expand_as(rows)
        return rows.new_zeros(num_graphs, rows.shape[1]).scatter_reduce(0, index, rows, "amax", include_self=False)
    total = rows.new_zeros(num_graphs, rows.shape[1]).index_add(0, batch, rows)
    if how == "sum":
        return total
    return total / torch.bincount(batch, minlength=num_graphs)[:, None].to(rows.dtype)


class Decoded(nn.Module):
    """A model of nodes with a bilinear decoder of links: ``score(u, v) = h_u W h_v``.

    Parameters
    ----------
    encoder : Module
        Returns (num_nodes, width): the embeddings. So does the module itself.
    width : int
    """

    def __init__(self, encoder: nn.Module, width: int) -> None:
        super().__init__()
        dtype = next((p.dtype for p in encoder.parameters()), torch.float32)
        self.encoder, self.weight = encoder, nn.Parameter(torch.empty(width, width, dtype=dtype))
        nn.init.xavier_uniform_(self.weight)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
    ) -> Tensor:
        """Return the embeddings, (num_nodes, width)."""
        inputs = ModelInputs(x=x, edge_index=edge_index, edge_weight=edge_weight, edge_attr=edge_attr, batch=batch)
        rows: Tensor = call_model(self.encoder, inputs)
        return rows


def score_pairs(module: nn.Module, source: Tensor, destination: Tensor) -> Tensor:
    """Return scores (...) of pairs from the embeddings (..., width) of their ends: by the decoder, or a dot product.

    The two are broadcast against each other.
    """
    if isinstance(module, Decoded):
        source = source.to(module.weight.device) @ module.weight
        destination = destination.to(module.weight.device)
    scores: Tensor = torch.einsum("...w,...w->...", source, destination)
    return scores
