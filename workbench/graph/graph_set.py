"""Many independent graphs in one: a disjoint union whose nodes know which graph they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph.inputs import counted
from workbench.graph.node_data import SPLITS

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

Ids = NDArray[np.int64]
GRAPH_IDS = "graph_ids"  # the node column that says it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphSet:
    """Where the graphs of a union lie, and what is known of each.

    Parameters
    ----------
    starts : array, int64 (num_graphs + 1)
        Nodes ``starts[g]`` to ``starts[g + 1] - 1`` are those of graph g.
    y : array, int64 (num_graphs) or None
        Label of each graph, -1 where unknown: that of its nodes.
    train_graphs, val_graphs, test_graphs : array, int64
        The splits: graphs whose nodes are in the splits of nodes.
    """

    starts: Ids
    y: NDArray[Any] | None
    train_graphs: Ids
    val_graphs: Ids
    test_graphs: Ids

    @property
    def num_graphs(self) -> int:
        return len(self.starts) - 1


def graph_set(graph: Graph) -> GraphSet:
    """Return the graphs of a union that :func:`check_graph_set` finds in order; worked out once a graph."""
    found: GraphSet = graph._cached("graph_set", lambda: _find(graph))
    return found


def _find(graph: Graph) -> GraphSet:
    ids = np.asarray(graph.node_data[GRAPH_IDS])
    starts = np.append(np.flatnonzero(np.diff(ids, prepend=-1)), len(ids)).astype(np.int64)
    splits = {
        name.replace("_nodes", "_graphs"): np.unique(ids[getattr(graph, name)]).astype(np.int64) for name in SPLITS
    }
    return GraphSet(starts=starts, y=None if graph.y is None else np.asarray(graph.y[starts[:-1]]), **splits)


def check_graph_set(graph: Graph, findings: Findings) -> bool:
    """Note what keeps a graph from being many side by side; return whether it is."""
    num_errors = len(findings.errors)
    column = graph.node_data.get(GRAPH_IDS)
    where = f"graph.node_data[{GRAPH_IDS!r}]"
    if column is None:
        fix = "Graph.from_pyg_list(list_of_data), or pass node_data={'graph_ids': ...}"
        findings.add(where, "for each node the graph that it belongs to", "no such column", fix)
        return False
    ids = np.asarray(column)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        findings.add(where, "whole numbers, (num_nodes,)", f"{ids.dtype} of shape {ids.shape}", "pass whole numbers")
        return False
    steps = np.diff(ids, prepend=0)
    if len(ids) and (ids[0] != 0 or (steps < 0).any() or (steps > 1).any()):
        first = int(np.argmax((steps < 0) | (steps > 1))) if ids[0] == 0 else 0
        got = f"{int(ids[first])} at node {first}, after {int(ids[first - 1]) if first else 'nothing'}"
        fix = "sort the nodes by graph, and number the graphs 0, 1, 2, ... without gaps"
        findings.add(where, "0, 1, 2, ... in order, every graph with a node", got, fix)
        return False
    _check_edges(graph, ids, findings)
    _check_constant(graph, ids, findings)
    return len(findings.errors) == num_errors


def _check_edges(graph: Graph, ids: Ids, findings: Findings) -> None:
    source, destination = graph.edge_index()
    between = ids[source] != ids[destination]
    if between.any():
        first = int(np.argmax(between))
        ends = f"node {source[first]} to {destination[first]}"
        got = f"{counted(int(between.sum()), 'edge')} between two, first from {ends}"
        findings.add("edges", "edges within one graph", got, "drop those edges, or mend graph_ids")


def _check_constant(graph: Graph, ids: Ids, findings: Findings) -> None:
    found = graph_set(graph)
    if graph.y is not None:
        y = np.asarray(graph.y)
        differs = (y != y[found.starts[ids]]).reshape(len(y), -1).any(axis=1)
        if differs.any():
            got = f"several in graph {int(ids[np.argmax(differs)])}"
            findings.add(
                "graph.y", "one label for all nodes of a graph: that of the graph", got, "y = labels[graph_ids]"
            )
    sizes = np.diff(found.starts)
    for name in SPLITS:
        nodes, graphs = getattr(graph, name), getattr(found, name.replace("_nodes", "_graphs"))
        if len(nodes) != sizes[graphs].sum():
            got = f"{len(nodes):,} nodes of {len(graphs):,} graphs that have {int(sizes[graphs].sum()):,}"
            fix = f"{name} = np.flatnonzero(np.isin(graph_ids, graphs))"
            findings.add(f"graph.{name}", "all nodes of a graph, or none", got, fix)


def nodes_of(starts: Ids, graphs: Ids) -> tuple[Ids, Ids]:
    """Return the nodes of some graphs one after another, and for each the position of its graph in `graphs`."""
    sizes = starts[graphs + 1] - starts[graphs]
    number = np.repeat(np.arange(len(graphs)), sizes)
    before = np.cumsum(sizes) - sizes
    nodes = np.arange(int(sizes.sum())) - before[number] + starts[graphs][number]
    return nodes, number


def random_split(
    labels: NDArray[Any], *, train_share: float, val_share: float, random: np.random.Generator
) -> tuple[Ids, Ids, Ids]:
    """Return positions for training, validation and test, drawn within each class so that all have their share."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]  # class by class, shuffled within
    place = np.empty(len(order))
    for label in np.unique(labels):  # the i-th of k members of a class stands at (i + 1/2) / k
        own = labels[order] == label
        place[own] = (np.arange(int(own.sum())) + 0.5) / own.sum()
    train, val = place < train_share, (place >= train_share) & (place < train_share + val_share)
    return np.sort(order[train]), np.sort(order[val]), np.sort(order[~train & ~val])
