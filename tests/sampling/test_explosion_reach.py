"""How far seeds reach, against a set-based reference, and the hubs on the way."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph import Graph, datasets
from workbench.sampling.explosion_reach import reach
from workbench.sampling.explosion_seeds import find_node
from workbench.testing.neighborhoods import count_neighborhood

graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda edges: Graph.from_edge_index(np.array(edges, np.int64).reshape(-1, 2).T, num_nodes=n)
    )
)


@given(graphs, st.data())
def test_it_ends_where_nothing_new_is_found(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=3))
    found = reach(graph, seeds)
    nodes = count_neighborhood(graph, seeds, 13)[0]
    last = nodes.index(nodes[-1])
    assert found.unique_nodes.tolist() == nodes[: last + 1]
    assert found.is_complete
    within = {h: count_within(graph, seeds, h) for h in range(last + 1)}
    for hub in found.hubs:
        assert hub.in_degree == graph.in_degrees()[hub.node] > 0
        assert hub.hop == next((h for h, seen in within.items() if hub.node in seen), None)


def count_within(graph: Graph, seeds: list[int], hops: int) -> set[int]:
    seen = set(seeds)
    for _ in range(hops):
        seen |= {int(u) for v in seen for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]}
    return seen


def test_a_path_by_hand() -> None:
    ids = np.arange(10)
    graph = Graph.from_edge_index(np.stack([ids[:-1], ids[1:]]), num_nodes=12)
    found = reach(graph, [9, 9], max_hops=20)
    assert found.unique_nodes.tolist() == list(range(1, 11))
    assert [found.hop_of(share) for share in (0, 0.5, 10 / 12, 0.9)] == [0, 5, 9, None]
    assert [hub.node for hub in found.hubs] == [1, 2, 3, 4, 5]
    cut = reach(graph, [9], max_hops=3)
    assert not cut.is_complete
    assert cut.unique_nodes.tolist() == [1, 2, 3, 4]
    assert [hub.hop for hub in cut.hubs] == [None] * 5


def test_debian_is_reached_through_its_hubs() -> None:
    graph = datasets.load("debian")
    found = reach(graph, [find_node(graph, "python3-numpy")])
    assert found.unique_nodes[:4].tolist() == [1, 659, 27719, 51039]
    assert found.unique_nodes[-1] == 61_377, "the largest component"
    assert (found.hop_of(0.5), found.hop_of(0.9)) == (3, 4)
    names = [str(graph.node_names[hub.node]) for hub in found.hubs]  # type: ignore[index]
    assert names[0] == "libc6"
    assert found.hubs[0].hop == 1
    assert [hub.in_degree for hub in found.hubs] == sorted((hub.in_degree for hub in found.hubs), reverse=True)
