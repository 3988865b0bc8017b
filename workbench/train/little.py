"""A small part of a graph, with its data: what probes try a model on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from workbench.graph import Graph as _Graph
from workbench.models import ModelInputs
from workbench.sampling import SampledSubgraph, sample
from workbench.train.probe import ProbeBatch
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph

_NUM_SEEDS, _FANOUT = 8, 4


def little_sample(graph: Graph, num_hops: int) -> SampledSubgraph:
    """Return a small sampled neighbourhood of a few training nodes that have neighbours."""
    candidates = graph.train_nodes if len(graph.train_nodes) else np.arange(graph.num_nodes)
    with_edges = candidates[np.diff(graph.indptr)[candidates] > 0]
    seeds = with_edges[:: max(1, len(with_edges) // _NUM_SEEDS)][:_NUM_SEEDS]
    if not len(seeds):
        seeds = candidates[:_NUM_SEEDS]
    return sample(graph, seeds, fanouts=(_FANOUT,) * num_hops)


def little_graph(graph: Graph, num_hops: int = 3) -> Graph:
    """Return the little neighbourhood as a graph of its own, features and edge data included."""
    part = little_sample(graph, num_hops)
    return _Graph.from_edge_index(
        part.edge_index,
        part.num_nodes,
        x=graph.x[part.node_ids],
        edge_data={name: np.array(column[part.edge_ids]) for name, column in graph.edge_data.items()},
    )


def little_batch(graph: Graph, num_hops: int, device: torch.device, dtype: torch.dtype) -> ProbeBatch:
    """Return the little neighbourhood as a batch, its nodes and edges in the order of their hops."""
    part = little_sample(graph, num_hops)
    inputs = ModelInputs(
        x=as_tensor(graph.x[part.node_ids], device, dtype),
        edge_index=torch.from_numpy(part.edge_index).to(device),
        edge_weight=edge_column(graph, WEIGHT, part.edge_ids, device, dtype),
        edge_attr=edge_column(graph, ATTRIBUTES, part.edge_ids, device, dtype),
    )
    hops = part.num_nodes_per_hop.tolist(), part.num_edges_per_hop.tolist()
    return ProbeBatch(inputs=inputs, num_nodes_per_hop=hops[0], num_edges_per_hop=hops[1])
