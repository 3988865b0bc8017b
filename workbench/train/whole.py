"""The whole graph as a model's input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from workbench.models import ModelInputs

if TYPE_CHECKING:
    from workbench.graph import Graph

WEIGHT, ATTRIBUTES = "weight", "attr"  # the columns of edge_data that models are given by name


def whole_graph_inputs(graph: Graph, device: torch.device, dtype: torch.dtype) -> ModelInputs:
    """Return all nodes and edges of a graph as tensors; features that lie on disk or are sparse become dense."""
    everything = slice(None)
    features = graph.x[np.arange(graph.num_nodes)] if not isinstance(graph.x, np.ndarray) else graph.x
    return ModelInputs(
        x=as_tensor(features, device, dtype),
        edge_index=torch.from_numpy(graph.edge_index()).to(device),
        edge_weight=edge_column(graph, WEIGHT, everything, device, dtype),
        edge_attr=edge_column(graph, ATTRIBUTES, everything, device, dtype),
    )


def edge_column(graph: Graph, name: str, edge_ids: Any, device: torch.device, dtype: torch.dtype) -> Tensor | None:
    """Return a column of edge data for some edges, or None where the graph has none of that name."""
    column = graph.edge_data.get(name)
    return None if column is None else as_tensor(column[edge_ids], device, dtype)


def as_tensor(array: Any, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return an array as a tensor; one that may not be written (a memory map) is copied."""
    values = array if array.flags.writeable else np.array(array)
    return torch.from_numpy(values).to(device=device, dtype=dtype)
