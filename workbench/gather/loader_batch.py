"""From a sampler's output to a PyG ``Data``: the rows of the nodes and edges that the batch has."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader.utils import filter_data

from workbench.gather.rows import RowStore
from workbench.graph import Graph
from workbench.graph.convert import EDGE_COLUMNS
from workbench.graph.node_data import SPLITS

_PYG_NAMES = {ours: theirs for theirs, ours in EDGE_COLUMNS.items()}


def make_batch(data: Any, out: Any, edge_order: Any = None) -> Any:
    """Return the batch of a sampler's output.

    Parameters
    ----------
    data : Data or Graph
        Every node-level column is read at the batch's nodes and every edge-level column at its edges; what belongs to
        the graph as a whole is taken over.
    out : torch_geometric.sampler.SamplerOutput
    edge_order : array or Tensor (m), optional
        The original position of each edge that ``out.edge`` numbers; None where these are the positions.
    """
    edges = None if out.edge is None else _original(out.edge, edge_order)
    of_graph = isinstance(data, Graph)
    batch = _from_graph(data, out) if of_graph else filter_data(data, out.node, out.row, out.col, edges)
    if "n_id" not in batch:
        batch.n_id = out.node
    if edges is not None and "e_id" not in batch:
        batch.e_id = edges
    batch.batch = out.batch
    batch.num_sampled_nodes = out.num_sampled_nodes
    batch.num_sampled_edges = out.num_sampled_edges
    for name in ("edge_norm", "node_norm"):
        if getattr(out, name, None) is not None:
            batch[name] = getattr(out, name)
    if out.orig_row is not None and out.orig_col is not None:
        batch._orig_edge_index = torch.stack([out.orig_row, out.orig_col])
    return batch


def _original(edges: Tensor, edge_order: Any) -> Tensor:
    edges = edges.to(torch.long)
    if edge_order is None:
        return edges
    if isinstance(edge_order, np.ndarray):  # perhaps mapped and read-only, which torch does not know
        return torch.from_numpy(edge_order[edges.numpy()].astype(np.int64, copy=False))
    return edge_order[edges].to(torch.long)  # type: ignore[no-any-return]


def _from_graph(graph: Graph, out: Any) -> Any:
    """Return what ``graph.to_pyg()`` has at these nodes and edges, without reading the rest of it."""
    nodes = out.node.numpy()
    batch = Data(edge_index=torch.stack([out.row, out.col]))
    batch.num_nodes = len(nodes)
    for name, column in graph.node_data.items():
        if name in SPLITS:
            batch[name.replace("_nodes", "_mask")] = torch.from_numpy(_is_in(nodes, column))
        elif name == "x":
            batch.x = torch.from_numpy(RowStore(column).gather(nodes))
        elif column.dtype.kind in "fiub":
            batch[name] = torch.from_numpy(np.asarray(column[nodes]))
    for name, column in graph.edge_data.items():
        if out.edge is not None and column.dtype.kind in "fiub":
            clash = f"edge_{name}" if name in graph.node_data else name
            batch[_PYG_NAMES.get(name, clash)] = torch.from_numpy(np.asarray(column[out.edge.numpy()]))
    return batch


def _is_in(ids: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each id whether it is one of the others, which are sorted and may be mapped: only a few are read."""
    if len(ascending) == 0:
        return np.zeros(len(ids), bool)
    place = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.asarray(ascending[place] == ids)
