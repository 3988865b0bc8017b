"""Every sampler in every form whose batches differ: what the suites below run over."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.rng import generator
from workbench.graph import Graph
from workbench.sampling import SAMPLERS, Sampler

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "neighbor": ("neighbor", {}),
    "with replacement": ("neighbor", {"replace": True, "fanouts": (3, 2)}),
    "by weight": ("neighbor", {"weight_attr": "weight", "fanouts": (3, 2)}),
    "by weight, with replacement": ("neighbor", {"weight_attr": "weight", "replace": True, "fanouts": (3, 2)}),
    "trees": ("neighbor", {"disjoint": True, "fanouts": (3, 2)}),
    "edge times": ("neighbor", {"time_attr": "time", "fanouts": (3, 2)}),
    "node times": ("neighbor", {"time_attr": "born", "fanouts": (3, 2)}),
    "last": ("neighbor", {"time_attr": "time", "temporal_strategy": "last", "fanouts": (2, 2)}),
    "times and weights": ("neighbor", {"time_attr": "time", "weight_attr": "weight", "fanouts": (2, 2)}),
    "induced": ("neighbor", {"subgraph_type": "induced", "fanouts": (3, 2)}),
    "both ways": ("neighbor", {"subgraph_type": "bidirectional", "fanouts": (3, 2)}),
    "induced trees": ("neighbor", {"subgraph_type": "induced", "disjoint": True, "fanouts": (3, 2)}),
    "full": ("full", {}),
    "labor": ("labor", {"fanouts": (3, 2)}),
    "labor, shared hops": ("labor", {"fanouts": (3, 2), "shared_hops": True}),
    "ladies": ("layer_wise", {"layer_sizes": (20, 10)}),
    "fastgcn": ("layer_wise", {"layer_sizes": (20, 10), "importance": "fastgcn"}),
    "cluster": ("cluster", {"num_clusters": 12, "clusters_per_batch": 2, "partitioner": "hash"}),
    "saint_node": ("saint_node", {"num_draws": 30}),
    "saint_edge": ("saint_edge", {"num_draws": 15}),
    "saint_walk": ("saint_walk", {"num_roots": 10, "coverage": 20}),
    "shadow": ("shadow", {"fanout": 3}),
}


def cases(*, draws_seeds: bool) -> list[str]:
    """Name the cases of samplers that draw their seeds, or of those that take what they are given."""
    return [case for case, (name, _) in CASES.items() if SAMPLERS.entry(name).factory.draws_seeds == draws_seeds]


def sampler_of(case: str) -> Sampler:
    """Return the sampler of a case."""
    name, params = CASES[case]
    return SAMPLERS.create(name, **params)


def with_columns(graph: Graph) -> Graph:
    """Return the graph with weights and times of edges, and times of nodes that are late enough to see some edge."""
    rng, num_nodes, num_edges = generator(graph.num_nodes, graph.num_edges), graph.num_nodes, graph.num_edges
    return graph.with_data(
        edge_data={"weight": rng.integers(1, 5, num_edges).astype(np.float32), "time": rng.integers(0, 50, num_edges)},
        node_data={"time": rng.integers(20, 60, num_nodes), "born": rng.integers(0, 50, num_nodes)},
    )
