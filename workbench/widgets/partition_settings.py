"""What the partition explorer can be set to, and the checks of it."""

from __future__ import annotations

import itertools
import math
import re
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
MAX_SEED = 2**31 - 1  # of METIS
MAX_WIDTH, MAX_WIDTHS, MAX_EPOCHS = 1_000_000, 16, 1_000_000_000


def choices(graph: Graph, widths: tuple[int, ...], epochs: int, link_gbit: float) -> dict[str, Any]:
    """Return what the controls offer; what is set is among it."""
    return {
        "widths": sorted({*WIDTHS, *(widths if len(widths) == 1 else ())}),
        "epochs": sorted({*EPOCHS, epochs}),
        "links": sorted({*LINKS, link_gbit}),
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


def check_seed(rng_seed: Any) -> int:
    """Return a seed that every method takes; refuse any other."""
    is_whole = isinstance(rng_seed, (int, np.integer)) and not isinstance(rng_seed, bool)
    if not is_whole or not 0 <= rng_seed <= MAX_SEED:
        findings = Findings("PartitionExplorer")
        findings.add("rng_seed", f"a whole number from 0 to {MAX_SEED:,}", repr(rng_seed)[:60], "pass rng_seed=0")
        findings.raise_if_any()
    return int(rng_seed)


def first_cost(width: Any, widths: Any) -> dict[str, Any]:
    """Return what the costs are made of at first; the hidden widths come from one of two arguments, 64 without."""
    if width is not None and widths is not None:
        findings = Findings("PartitionExplorer")
        findings.add("width, widths", "one of the two", f"{width!r}, {widths!r}", "pass widths alone")
        findings.raise_if_any()
    given = widths if widths is not None else width if width is not None else WIDTHS[1]
    return check_cost(given, EPOCHS[1], LINKS[0])


def check_cost(widths: Any, epochs: Any, link_gbit: Any, *, typed: bool = False) -> dict[str, Any]:
    """Return what the costs are made of; refuse widths, epochs and speeds that are not above zero, or not whole.

    `typed`: the widths may be the text of a field, such as ``"256, 64"``.
    """
    findings = Findings("PartitionExplorer")
    checked = _widths(widths, typed, findings)
    if isinstance(epochs, bool) or not isinstance(epochs, (int, np.integer)) or not 1 <= epochs <= MAX_EPOCHS:
        findings.add("epochs", f"a whole number from 1 to {MAX_EPOCHS:,}", repr(epochs)[:60], "choose another epochs")
    is_number = isinstance(link_gbit, (int, float, np.number)) and not isinstance(link_gbit, bool)
    if not is_number or not 0 < link_gbit < math.inf:
        findings.add("link_gbit", "a number above 0", repr(link_gbit), "choose another link_gbit")
    findings.raise_if_any()
    speed = link_gbit.item() if isinstance(link_gbit, np.number) else link_gbit
    return {"widths": checked, "epochs": int(epochs), "link_gbit": speed}


def _widths(given: Any, typed: bool, findings: Findings) -> tuple[int, ...]:
    """Return the widths of the hidden layers; what is wrong with them is one finding."""
    if typed and isinstance(given, str):
        words = re.split(r"[,;\s]+", given.strip(" ,;"))
        given = [int(word) if re.fullmatch(r"[0-9]{1,9}", word) else word for word in words if word]
    one = isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    all_given = [given] if one else list(itertools.islice(given, MAX_WIDTHS + 1))  # it may be endless
    bad = [width for width in all_given if not _is_width(width)]
    if not bad and 1 <= len(all_given) <= MAX_WIDTHS:
        return tuple(int(width) for width in all_given)
    expected = f"1 to {MAX_WIDTHS} widths of hidden layers, whole numbers from 1 to {MAX_WIDTH:,}"
    got = ", ".join(repr(width)[:40] for width in bad[:4] or all_given) or "none"
    findings.add("widths", expected, got, "give one a hidden layer, such as 256, 64")
    return ()


def _is_width(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 1 <= value <= MAX_WIDTH
