"""What the partition explorer can be set to, and the checks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import require_graph
from workbench.partition import node_methods

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_PARTS = 1024
MAX_METHODS = 4
WIDTHS, EPOCHS, LINKS = (16, 64, 256), (50, 200, 1000), (1, 10, 100)


def choices(graph: Graph, width: int) -> dict[str, Any]:
    """Return what the controls offer."""
    return {
        "widths": sorted({*WIDTHS, width}),
        "epochs": list(EPOCHS),
        "links": list(LINKS),
        "max_parts": min(MAX_PARTS, graph.num_nodes),
        "max_methods": MAX_METHODS,
    }


def check(graph: Graph, num_parts: Any, methods: tuple[str, ...]) -> None:
    """Refuse a graph, a number of parts or methods that cannot be shown."""
    require_graph(graph, "PartitionExplorer")
    findings = Findings("PartitionExplorer")
    if graph.num_nodes < 2:
        findings.add("graph", "at least two nodes", graph.num_nodes, "explore a larger graph")
    elif isinstance(num_parts, bool) or not isinstance(num_parts, (int, np.integer)):
        findings.add("num_parts", "a whole number", repr(num_parts), "pass num_parts=4")
    elif not 2 <= num_parts <= min(MAX_PARTS, graph.num_nodes):
        limit = min(MAX_PARTS, graph.num_nodes)
        findings.add("num_parts", f"2 to {limit:,}", num_parts, "pass num_parts=4")
    if not 1 <= len(methods) <= MAX_METHODS or len(set(methods)) != len(methods):
        findings.add("methods", f"1 to {MAX_METHODS} different names", list(methods), 'pass ("metis", "random")')
    for method in methods:
        if method not in node_methods():
            expected = f"methods that divide nodes and are installed: {list(node_methods())}"
            findings.add("methods", expected, repr(method), "take one of them")
    findings.raise_if_any()


def check_part(part: int | None, num_parts: int) -> None:
    """Refuse a selected part that is not there."""
    if part is not None and not 0 <= part < num_parts:
        findings = Findings("PartitionExplorer")
        findings.add("selected_part", f"0 to {num_parts - 1}, or None", part, "select a part that is shown")
        findings.raise_if_any()


def check_cost(width: int, epochs: int, link_gbit: float) -> None:
    """Refuse widths, epochs and speeds that are not above zero."""
    findings = Findings("PartitionExplorer")
    for name, value in (("width", width), ("epochs", epochs), ("link_gbit", link_gbit)):
        if not value > 0:
            findings.add(name, "more than 0", value, f"choose a larger {name}")
    findings.raise_if_any()
