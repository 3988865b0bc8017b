"""Renumbering for locality: nodes that are read together lie side by side in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from workbench.core.errors import Findings
from workbench.graph.csc import build_csc, destinations
from workbench.graph.node_data import Columns, Names
from workbench.graph.symmetric import symmetric_topology
from workbench.partition.orders import breadth_first, degree_order
from workbench.partition.parts import Partition
from workbench.partition.rows import take_node_data

if TYPE_CHECKING:
    from workbench.graph import Graph

ORDERS = ("bfs", "degree", "rcm")
ORIGINAL = "original_node"


def reorder(graph: Graph, by: Partition | str = "rcm") -> Graph:
    """Return the graph with its nodes renumbered so that neighbours have near ids.

    Parameters
    ----------
    graph : Graph
    by : Partition or str
        ``"rcm"`` (reverse Cuthill-McKee), ``"bfs"`` (breadth first), ``"degree"`` (hubs first), or a partition of this
        graph: part after part, each breadth first.

    Returns
    -------
    Graph
        Equal but for the numbers: every node and edge keeps its data and its name, splits name the same nodes. The node
        column ``original_node`` (int64) holds the first id of each node, also after several reorderings.

    Raises
    ------
    InputError
        An unknown order, a vertex-cut, or a partition of another graph.
    """
    order = _order_of(graph, by)
    rank = np.empty(graph.num_nodes, dtype=np.int64)
    rank[order] = np.arange(graph.num_nodes)
    source = rank[graph.indices].astype(graph.indices.dtype)
    topology = build_csc(source, rank[destinations(graph.indptr)].astype(source.dtype), graph.num_nodes)
    old_edges = np.arange(graph.num_edges, dtype=np.int64) if topology.order is None else topology.order
    columns = take_node_data(graph, order, rank)
    columns.setdefault(ORIGINAL, order)
    return replace(
        graph,
        indptr=topology.indptr,
        indices=topology.indices,
        edge_order=old_edges if graph.edge_order is None else graph.edge_order[old_edges],
        node_data=Columns(columns),
        edge_data=Columns({name: column[old_edges] for name, column in graph.edge_data.items()}),
        names=None if graph.node_names is None else Names.from_strings(graph.node_names[order]),
        folder=None,
    )


def _order_of(graph: Graph, by: Partition | str) -> np.ndarray:
    """Return the old ids in their new order, int64 (n,)."""
    findings = Findings("reorder")
    if not isinstance(by, str) and getattr(by, "fingerprint", None) is not None:
        assignment = by.assignment  # a vertex-cut has none, and says so
        if by.fingerprint != graph.fingerprint:
            findings.add("by", "a partition of this graph", f"one of {by.graph.name!r}", "partition this graph")
            findings.raise_if_any()
    elif by not in ORDERS:
        fix = "pass one of the names, or what partition(graph, ...) returned"
        findings.add("by", f"a Partition, or one of {list(ORDERS)}", repr(by), fix)
        findings.raise_if_any()
    if by == "degree":
        return degree_order(graph)
    starts, adjacent, _ = symmetric_topology(graph)
    if by == "rcm":
        ones = np.ones(len(adjacent), dtype=np.int8)
        matrix = sparse.csr_matrix(
            (ones, adjacent.astype(np.int32), starts.astype(np.int32)), shape=(len(starts) - 1,) * 2
        )
        return cast("np.ndarray", reverse_cuthill_mckee(matrix, symmetric_mode=True)).astype(np.int64)
    first = breadth_first((starts, adjacent), np.arange(graph.num_nodes, dtype=np.int64))
    return first if by == "bfs" else first[np.argsort(assignment[first], kind="stable")]
