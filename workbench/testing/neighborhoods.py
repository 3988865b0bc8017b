"""A plain reference for what a neighbourhood reads: Python's sets and dictionaries instead of kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.graph.graph import Graph


def count_neighborhood(graph: Graph, seed_nodes: Sequence[int], depth: int) -> tuple[list[int], list[int], list[int]]:
    """Return unique nodes, edges read and tree slots (walks) up to each hop, each (depth + 1)."""
    sources = {v: graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(graph.num_nodes)}
    seen, frontier, walks = set(seed_nodes), set(seed_nodes), Counter(set(seed_nodes))
    nodes, edges, slots = [len(seen)], [0], [len(seen)]
    for _ in range(depth):
        edges.append(edges[-1] + sum(len(sources[v]) for v in frontier))
        frontier = {u for v in frontier for u in sources[v]} - seen
        seen |= frontier
        nodes.append(len(seen))
        following: Counter[int] = Counter()
        for v, count in walks.items():
            for u in sources[v]:
                following[u] += count
        walks = following
        slots.append(slots[-1] + sum(walks.values()))
    return nodes, edges, slots
