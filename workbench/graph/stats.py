"""What a graph looks like in numbers: a frozen record that shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from workbench.graph import csc, display

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """A distribution of degrees."""

    mean: float
    median: float
    p99: float
    max: int
    argmax: int

    @classmethod
    def of(cls, degrees: Array) -> Degrees:
        """Summarise the degrees of all nodes (zeros without nodes)."""
        if len(degrees) == 0:
            return cls(mean=0.0, median=0.0, p99=0.0, max=0, argmax=-1)
        return cls(
            mean=float(degrees.mean()),
            median=float(np.median(degrees)),
            p99=float(np.percentile(degrees, 99)),
            max=int(degrees.max()),
            argmax=int(degrees.argmax()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """Counts of a graph; it shows itself as text and as a table.

    Parameters
    ----------
    num_edges : int
        Directed edges: an undirected edge counts twice.
    in_degrees, out_degrees : Degrees
        Over all edges, self-loops and parallel edges included.
    degrees : Degrees
        Of the graph made undirected, without self-loops and parallel edges.
    num_isolated : int
        Nodes without any edge to another node.
    num_duplicates : int
        Edges beyond the first from one node to another.
    num_components, largest_component : int
        Weakly connected components, and the nodes of the largest.
    symmetric : bool
        Every edge stands beside its reverse.
    homophily : float or None
        Share of edges within one class, among edges between two labelled nodes that differ; None without labels.
    nodes_per_class : tuple of int
    num_labelled : int
    topology_bytes, data_bytes : int
    """

    name: str
    num_nodes: int
    num_edges: int
    in_degrees: Degrees
    out_degrees: Degrees
    degrees: Degrees
    num_isolated: int
    num_self_loops: int
    num_duplicates: int
    num_components: int
    largest_component: int
    symmetric: bool
    homophily: float | None
    num_features: int
    num_classes: int
    nodes_per_class: tuple[int, ...]
    num_labelled: int
    num_train: int
    num_val: int
    num_test: int
    topology_bytes: int
    data_bytes: int

    def __repr__(self) -> str:
        return display.stats_text(self)

    def _repr_html_(self) -> str:
        return display.stats_html(self)


def measure(graph: Graph) -> GraphStats:
    """Measure a graph in O(m)."""
    in_degrees, out_degrees = graph.in_degrees(), graph.out_degrees()
    destination = csc.destinations(graph.indptr, graph.indices.dtype)
    simple = simple_degrees(graph)
    num_components, largest = _components(graph)
    labelled, per_class = _classes(graph)
    return GraphStats(
        name=graph.name,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        in_degrees=Degrees.of(in_degrees),
        out_degrees=Degrees.of(out_degrees),
        degrees=Degrees.of(simple),
        num_isolated=int(np.count_nonzero(simple == 0)),
        num_self_loops=int(np.count_nonzero(graph.indices == destination)),
        num_duplicates=_duplicates(graph.indices, destination),
        num_components=num_components,
        largest_component=largest,
        symmetric=graph.is_symmetric(),
        homophily=homophily(graph, destination),
        num_features=graph.num_features,
        num_classes=graph.num_classes,
        nodes_per_class=per_class,
        num_labelled=labelled,
        num_train=len(graph.train_nodes),
        num_val=len(graph.val_nodes),
        num_test=len(graph.test_nodes),
        topology_bytes=graph.indptr.nbytes + graph.indices.nbytes,
        data_bytes=graph.node_data.nbytes + graph.edge_data.nbytes,
    )


def simple_degrees(graph: Graph) -> Array:
    """Return each node's degree in the graph made undirected, without self-loops and parallel edges, int64 (n)."""
    destination = csc.destinations(graph.indptr, graph.indices.dtype)
    if graph.is_symmetric():
        kept = graph.indices != destination
        kept[1:] &= (graph.indices[1:] != graph.indices[:-1]) | (destination[1:] != destination[:-1])
        return np.bincount(destination[kept], minlength=graph.num_nodes).astype(np.int64, copy=False)
    source, end, _ = csc.both_directions(graph.indices, destination, graph.num_nodes)
    return np.bincount(source[source != end], minlength=graph.num_nodes).astype(np.int64, copy=False)


def _duplicates(source: Array, destination: Array) -> int:
    return int(np.count_nonzero((source[1:] == source[:-1]) & (destination[1:] == destination[:-1])))


def _components(graph: Graph) -> tuple[int, int]:
    if graph.num_nodes == 0:
        return 0, 0
    ones = np.ones(graph.num_edges, np.int8)
    matrix = sparse.csr_array((ones, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))
    count, component = connected_components(matrix, directed=True, connection="weak")
    return int(count), int(np.bincount(component).max())


def _classes(graph: Graph) -> tuple[int, tuple[int, ...]]:
    if graph.y is None:
        return 0, ()
    if graph.y.ndim == 2:
        return graph.num_nodes, ()
    known = graph.y[graph.y >= 0]
    return len(known), tuple(np.bincount(known, minlength=graph.num_classes).tolist())


def homophily(graph: Graph, destination: Array) -> float | None:
    """Return the share of edges that join nodes of one class, among edges between two different labelled nodes."""
    if graph.y is None or graph.y.ndim == 2:
        return None
    first, second = graph.y[graph.indices], graph.y[destination]
    counted = (first >= 0) & (second >= 0) & (graph.indices != destination)
    total = int(np.count_nonzero(counted))
    return int(np.count_nonzero(counted & (first == second))) / total if total else None
