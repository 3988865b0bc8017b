"""Take the edges that are to be predicted out of what a batch reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.sampling import SampledSubgraph

Ids = NDArray[np.int64]


def without_edges(subgraph: SampledSubgraph, source: Ids, destination: Ids, *, both: bool) -> SampledSubgraph:
    """Take the edges between the given pairs out of a subgraph, parallel ones too; `both`: in both directions."""
    num_nodes = 1 + max((int(ids.max()) for ids in (subgraph.node_ids, source, destination) if len(ids)), default=0)
    pairs = source * num_nodes + destination
    if both:
        pairs = np.concatenate([pairs, destination * num_nodes + source])
    begin, end = subgraph.node_ids[subgraph.edge_index]
    kept = ~np.isin(begin * num_nodes + end, pairs)
    hop = np.repeat(np.arange(len(subgraph.num_edges_per_hop)), subgraph.num_edges_per_hop)
    return replace(
        subgraph,
        edge_index=subgraph.edge_index[:, kept],
        edge_ids=subgraph.edge_ids[kept],
        num_edges_per_hop=np.bincount(hop[kept], minlength=len(subgraph.num_edges_per_hop)),
        edge_weight=None if subgraph.edge_weight is None else subgraph.edge_weight[kept],
    )
