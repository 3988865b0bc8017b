"""Choosing seeds: at random, by degree, by id or by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.rng import generator

if TYPE_CHECKING:
    from workbench.graph import Graph

IdArray = NDArray[np.int64]
SeedChoice = Literal["random", "hub", "median", "percentile"]
_MAX_COMPARED = 20_000  # names; a comparison takes some 20 µs
_SEEDS_KEY = 0x5EED5  # keeps these draws apart from every other use of the same rng_seed


def random_seeds(graph: Graph, num_seeds: int, *, batch: int, rng_seed: int = 0) -> IdArray:
    """Return `num_seeds` distinct nodes (all nodes where there are fewer), a function of (rng_seed, batch)."""
    count = min(num_seeds, graph.num_nodes)
    drawn: IdArray = generator(rng_seed, _SEEDS_KEY, batch).choice(graph.num_nodes, count, replace=False)
    return drawn.astype(np.int64, copy=False)


def seeds_by_degree(graph: Graph, percentile: float, num_seeds: int = 1) -> IdArray:
    """Return the nodes around a percentile of the in-degree; 100 gives the hubs, largest first.

    Parameters
    ----------
    percentile : float
        In percent, 0 to 100; 50 is the median.
    num_seeds : int
        How many nodes, taken evenly from both sides of the percentile in the order of (degree, id).
    """
    findings = Findings("seeds_by_degree")
    if not 0 <= percentile <= 100:
        findings.add("percentile", "0 to 100", percentile, "use 50 for the median, 100 for the hubs")
    findings.raise_if_any()
    order = _by_degree(graph)
    count = min(num_seeds, graph.num_nodes)
    centre = round(percentile / 100 * (graph.num_nodes - 1))
    start = min(max(centre - count // 2, 0), graph.num_nodes - count)
    chosen = order[start : start + count].astype(np.int64)
    return chosen[::-1].copy() if percentile == 100 else chosen


def _by_degree(graph: Graph) -> NDArray[Any]:
    """Return the nodes in the order of (in-degree, id), kept with the graph: sorting a million takes 0.1 s."""

    def order() -> NDArray[Any]:
        return np.argsort(graph.in_degrees(), kind="stable").astype(graph.indices.dtype)

    return graph._cached("nodes_by_degree", order)  # type: ignore[no-any-return]


def find_node(graph: Graph, text: str) -> int:
    """Return the node with a name, or with an id given as text; an unknown one is an error with the nearest name."""
    wanted = str(text).strip()
    names = graph.node_names
    if names is not None:
        found = np.flatnonzero(names == wanted)
        if found.size:
            return int(found[0])
    if wanted.isdigit() and int(wanted) < graph.num_nodes:
        return int(wanted)
    findings = Findings(f"node {wanted!r}")
    near = suggest_node(graph, wanted)
    expected = f"a node id from 0 to {graph.num_nodes - 1:,}" + ("" if names is None else ", or a node's name")
    findings.add("node", expected, repr(wanted), f"did you mean {near!r}?" if near else "use an id of the range")
    findings.raise_if_any()
    raise AssertionError("unreachable")


def suggest_node(graph: Graph, wanted: str) -> str | None:
    """Return the name that is spelled most like `wanted` (of equals, that of the node with most edges), or None."""
    if graph.node_names is None or not wanted:
        return None
    alike = [name for name in graph.node_names.tolist() if name[:1] == wanted[:1] and abs(len(name) - len(wanted)) <= 2]
    near: list[str] = difflib.get_close_matches(wanted, alike[:_MAX_COMPARED], n=8, cutoff=0.6)
    if not near:
        return None
    degrees = graph.in_degrees()

    def fitness(name: str) -> tuple[float, int]:
        node = int(np.flatnonzero(graph.node_names == name)[0])
        return round(difflib.SequenceMatcher(None, name, wanted).ratio(), 6), int(degrees[node])

    return max(near, key=fitness)
