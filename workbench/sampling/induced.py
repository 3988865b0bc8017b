"""All edges among the nodes of a batch, and edges turned both ways: what ``subgraph_type`` makes of a sample."""

from __future__ import annotations

import dataclasses

import numpy as np

from workbench.sampling.base import SampledSubgraph
from workbench.sampling.numbering import Numbering
from workbench.sampling.topology import Topology


def with_all_edges(graph: Topology, subgraph: SampledSubgraph, numbering: Numbering) -> SampledSubgraph:
    """Return the subgraph with every edge between its nodes (of one tree), by destination, each once.

    Edges count for the hop at which their destination's own edges are drawn, those of the last hop's nodes for the
    last one.
    """
    sources, destinations, edge_ids = numbering.join(np.asarray(graph.indptr), np.asarray(graph.indices))
    hops = len(subgraph.num_edges_per_hop)
    ends = np.cumsum(subgraph.num_nodes_per_hop)
    hop_of_edge = np.minimum(np.searchsorted(ends, destinations, side="right"), hops - 1)
    return dataclasses.replace(
        subgraph,
        edge_index=np.stack([sources, destinations]),
        edge_ids=edge_ids,
        num_edges_per_hop=np.bincount(hop_of_edge, minlength=hops).astype(np.int64, copy=False),
        edge_weight=None,
    )


def both_ways(subgraph: SampledSubgraph) -> SampledSubgraph:
    """Return the subgraph with the reverse of every edge that does not stand there yet, under the edge's own id.

    In a graph with both directions these are edges of the graph; in a directed one they carry messages against it.
    A reverse counts for the hop of its edge, and comes behind that hop's own edges.
    """
    source, destination = subgraph.edge_index
    forward, backward = (a * subgraph.num_nodes + b for a, b in ((source, destination), (destination, source)))
    _, first = np.unique(backward, return_index=True)  # parallel edges share one reverse
    missing = np.sort(first[~np.isin(backward[first], forward)])
    hops = len(subgraph.num_edges_per_hop)
    hop_of_edge = np.repeat(np.arange(hops), subgraph.num_edges_per_hop)
    hop_of_all = np.concatenate([hop_of_edge, hop_of_edge[missing]])
    order = np.argsort(hop_of_all, kind="stable")
    reverse = subgraph.edge_index[::-1, missing]
    return dataclasses.replace(
        subgraph,
        edge_index=np.concatenate([subgraph.edge_index, reverse], axis=1)[:, order],
        edge_ids=np.concatenate([subgraph.edge_ids, subgraph.edge_ids[missing]])[order],
        num_edges_per_hop=np.bincount(hop_of_all, minlength=hops).astype(np.int64, copy=False),
    )
