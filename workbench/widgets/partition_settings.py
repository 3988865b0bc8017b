"""What the partition explorer can be set to, and the checks of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import require_graph
from workbench.partition import node_methods

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_PARTS = 1024
MAX_METHODS = 4
MAX_COUNTS = 4
MAX_COLUMNS = 8  # methods times numbers of parts
WIDTHS, EPOCHS, LINKS = (16, 64, 256), (50, 200, 1000), (1, 10, 100)


def choices(graph: Graph, width: int) -> dict[str, Any]:
    """Return what the controls offer."""
    return {
        "widths": sorted({*WIDTHS, width}),
        "epochs": list(EPOCHS),
        "links": list(LINKS),
        "max_parts": min(MAX_PARTS, graph.num_nodes),
        "max_methods": MAX_METHODS,
        "max_counts": MAX_COUNTS,
        "max_columns": MAX_COLUMNS,
    }


def check(graph: Graph, num_parts: Any, methods: tuple[str, ...]) -> tuple[int, ...]:
    """Return the numbers of parts; refuse a graph, numbers of parts or methods that cannot be shown."""
    require_graph(graph, "PartitionExplorer")
    findings = Findings("PartitionExplorer")
    counts: tuple[int, ...] = ()
    if graph.num_nodes < 2:
        findings.add("graph", "at least two nodes", graph.num_nodes, "explore a larger graph")
    else:
        counts = _counts(graph, num_parts, findings)
    if not 1 <= len(methods) <= MAX_METHODS or len(set(methods)) != len(methods):
        findings.add("methods", f"1 to {MAX_METHODS} different names", list(methods), 'pass ("metis", "random")')
    for method in methods:
        if method not in node_methods():
            expected = f"methods that divide nodes and are installed: {list(node_methods())}"
            findings.add("methods", expected, repr(method), "take one of them")
    if len(counts) * len(methods) > MAX_COLUMNS:
        got = f"{len(methods)} methods in {len(counts)} numbers of parts, {len(counts) * len(methods)}"
        fix = "take fewer methods, or fewer numbers of parts"
        findings.add("num_parts, methods", f"at most {MAX_COLUMNS} partitions side by side", got, fix)
    findings.raise_if_any()
    return counts


def _counts(graph: Graph, num_parts: Any, findings: Findings) -> tuple[int, ...]:
    """Return one or several numbers of parts as a tuple; what is wrong with them is one finding."""
    limit = min(MAX_PARTS, graph.num_nodes)
    fix = "pass num_parts=2" if limit < 4 else "pass num_parts=4, or several: num_parts=(2, 4)"
    is_one = (
        isinstance(num_parts, (str, bytes)) or not isinstance(num_parts, Iterable) or getattr(num_parts, "ndim", 1) == 0
    )
    given = [num_parts] if is_one else list(itertools.islice(num_parts, MAX_COUNTS + 1))  # it may be endless
    whole = [not isinstance(one, (bool, np.bool_)) and isinstance(one, (int, np.integer)) for one in given]
    expected, bad = "", [one for one, is_whole in zip(given, whole, strict=True) if not is_whole]
    if bad:
        expected = "whole numbers" if len(given) > 1 else "a whole number"
    elif bad := [one for one in given if not 2 <= one <= limit]:
        what = f"the graph has {limit:,} nodes" if limit < MAX_PARTS else f"at most {MAX_PARTS:,} parts can be shown"
        expected = f"2 to {limit:,}, for {what}"
    elif not given or len(given) > MAX_COUNTS:
        expected = f"1 to {MAX_COUNTS} numbers of parts"
    elif bad := [one for index, one in enumerate(given) if one in given[:index]]:
        expected = "every number of parts once"
    if expected:
        shown = bad or given
        got = ", ".join(map(str if not bad else repr, shown)) or "none"
        findings.add("num_parts", expected, f"{got}, ..." if len(shown) > MAX_COUNTS else got, fix)
        return ()
    return tuple(int(one) for one in given)


def one_or_all(counts: tuple[int, ...]) -> int | tuple[int, ...]:
    """Return numbers of parts as the trait holds them: one by itself, several as a tuple."""
    return counts[0] if len(counts) == 1 else counts


def check_part(part: int | None, num_parts: int) -> None:
    """Refuse a selected part that is not there."""
    if part is not None and not 0 <= part < num_parts:
        findings = Findings("PartitionExplorer")
        findings.add("selected_part", f"0 to {num_parts - 1}, or None", part, "select a part that is shown")
        findings.raise_if_any()


def check_cost(width: Any, epochs: Any, link_gbit: Any) -> None:
    """Refuse widths, epochs and speeds that are not above zero, and parts of a width or an epoch."""
    findings = Findings("PartitionExplorer")
    for name, value in (("width", width), ("epochs", epochs)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            findings.add(name, "a whole number from 1 up", repr(value), f"choose another {name}")
    is_number = isinstance(link_gbit, (int, float, np.number)) and not isinstance(link_gbit, bool)
    if not is_number or not 0 < link_gbit < math.inf:
        findings.add("link_gbit", "a number above 0", repr(link_gbit), "choose another link_gbit")
    findings.raise_if_any()
