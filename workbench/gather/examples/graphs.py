"""Whole graphs, many of them side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.gather.dealing import EXAMPLES, Deal, Drawn, Examples, Ids
from workbench.graph import Graph
from workbench.graph.graph_set import graph_set, nodes_of
from workbench.sampling import SampledSubgraph
from workbench.sampling.base import Sampler


@EXAMPLES.register("graphs")
@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs(Examples):
    """Training graphs: a batch holds some of them whole, with all their edges."""

    def open(self, graph: Graph) -> Deal:
        return GraphDeal(graph)


class GraphDeal:
    """The training graphs of a union."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._set = graph, graph_set(graph)
        self.ids: Ids = self._set.train_graphs

    def draw(self, sampler: Sampler, ids: Ids, *, epoch: int, batch: int, rng_seed: int) -> Drawn:
        """Return the graphs `ids`, one after another; nothing is sampled."""
        return Drawn(subgraph=whole_graphs(self._graph, ids), y=None if self._set.y is None else self._set.y[ids])


def whole_graphs(graph: Graph, ids: Ids) -> SampledSubgraph:
    """Return some graphs of a union side by side; ``batch`` is the position in `ids` of each node's graph."""
    nodes, number = nodes_of(graph_set(graph).starts, ids)
    indptr = np.asarray(graph.indptr)
    begin, end = indptr[nodes], indptr[nodes + 1]
    edge_ids, at = _ranges(begin, end)
    # Nodes of one graph lie side by side, here as in the union: a source is as far from its destination in both.
    destination = np.arange(len(nodes))[at]
    source = np.asarray(graph.indices[edge_ids]).astype(np.int64) - nodes[at] + destination
    return SampledSubgraph(
        node_ids=nodes,
        edge_index=np.stack([source, destination]),
        edge_ids=edge_ids,
        num_nodes_per_hop=np.array([len(nodes)]),
        num_edges_per_hop=np.zeros(0, np.int64),
        batch=number,
    )


def _ranges(begin: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[Ids, Ids]:
    """Return the numbers from each begin up to its end, one range after another, and whose range each is."""
    sizes = end - begin
    owner = np.repeat(np.arange(len(begin)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) - before[owner] + begin[owner], owner
