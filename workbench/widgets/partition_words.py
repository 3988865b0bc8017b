"""What the partition explorer says of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.units import format_count
from workbench.widgets.partition_results import Made, Results

if TYPE_CHECKING:
    from workbench.graph import Graph


def find_node(graph: Graph, query: Any) -> int:
    """Return the node that a person means: its id, or its name."""
    text = str(query).strip()
    if text.isdecimal() and int(text) < graph.num_nodes:
        return int(text)
    names = graph.node_names
    if names is not None:
        found = np.flatnonzero(names == text)
        if len(found):
            return int(found[0])
    findings = Findings("Find a node")
    has_names = "" if names is None else " or the exact name of a node"
    findings.add("node", f"an id from 0 to {graph.num_nodes - 1:,}{has_names}", repr(text), "correct it")
    findings.raise_if_any()
    raise AssertionError("unreachable")


def node_facts(results: Results, shown: Sequence[Made], node: int, part: int | None) -> dict[str, Any]:
    """Return what is said of a node: its name, degree and class, and its place in every partition."""
    graph = results.graph
    names = graph.node_names
    degree = int(graph.indptr[node + 1] - graph.indptr[node])
    return {
        "node": node,
        "title": f"node {node}" if names is None else str(names[node]),
        "id": node,
        "class": _class_of(graph, node),
        "degree": f"degree {format_count(degree)}" if graph.is_symmetric() else f"{format_count(degree)} in-edges",
        "places": [_place(results, made, node, part) for made in shown],
    }


def _class_of(graph: Graph, node: int) -> str:
    y = graph.y
    if y is None or y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        return ""
    if y[node] < 0:
        return "no class"
    return str(graph.class_names[y[node]]) if graph.class_names else f"class {y[node]}"


def _place(results: Results, made: Made, node: int, part: int | None) -> dict[str, Any]:
    owner = int(made.partition.assignment[node])
    readers = results.readers(node, made.partition.assignment)
    if part is not None and owner != part and part < made.partition.num_parts:
        role = f"halo of part {part}" if part in readers else f"not read by part {part}"
    elif len(readers):
        role = f"read by {len(readers)} other part{'s' if len(readers) != 1 else ''}"
    else:
        role = "inner, read by no other part"
    return {"part": owner, "readers": readers, "role": role}
