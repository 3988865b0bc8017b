"""Statistics: against slow and obvious counts, and against the published figures of real graphs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph import Graph, datasets
from workbench.graph.stats import Degrees, simple_degrees
from workbench.testing.graphs import NAMED

PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


@given(PAIRS)
def test_counts_agree_with_counting_by_hand(pairs: list[tuple[int, int]]) -> None:
    labels = np.arange(9) % 3
    stats = Graph.from_edge_index(np.array(pairs, np.int64).reshape(-1, 2).T, 9, y=labels).stats()
    multiplicity = Counter(pairs)
    simple = nx.Graph()
    simple.add_nodes_from(range(9))
    simple.add_edges_from((u, v) for u, v in pairs if u != v)
    degrees = [degree for _, degree in simple.degree]
    assert stats.num_self_loops == sum(u == v for u, v in pairs)
    assert stats.num_duplicates == sum(count - 1 for count in multiplicity.values())
    assert stats.num_isolated == sum(degree == 0 for degree in degrees)
    assert stats.num_components == nx.number_connected_components(simple)
    assert stats.largest_component == max(len(part) for part in nx.connected_components(simple))
    assert stats.symmetric == all(multiplicity[v, u] == count for (u, v), count in multiplicity.items())
    assert stats.degrees == Degrees.of(np.array(degrees))
    assert stats.in_degrees.max == max(Counter(v for _, v in pairs).values(), default=0)
    between = [labels[u] == labels[v] for u, v in pairs if u != v]
    assert stats.homophily == (pytest.approx(np.mean(between)) if between else None)


@pytest.mark.parametrize("name", NAMED)
def test_every_graph_has_statistics(name: str) -> None:
    stats = NAMED[name]().stats()
    assert stats.num_nodes == sum(stats.nodes_per_class) or stats.num_labelled == 0
    assert stats.topology_bytes == 8 * (stats.num_nodes + 1) + 4 * stats.num_edges


def test_degrees_summarise() -> None:
    degrees = Degrees.of(np.array([0, 1, 1, 5]))
    assert (degrees.mean, degrees.median, degrees.max, degrees.argmax) == (1.75, 1.0, 5, 3)
    assert degrees.p99 == pytest.approx(1 + 0.97 * 4)
    assert Degrees.of(np.zeros(0, np.int64)).max == 0


def test_simple_degrees_leave_out_loops_and_parallel_edges() -> None:
    graph = Graph.from_edge_index([[0, 0, 1, 2, 2], [1, 1, 0, 2, 0]], 4)
    assert simple_degrees(graph).tolist() == [2, 1, 1, 0]


def figures(graph: Graph) -> tuple[str, float, float, int, str]:
    stats = graph.stats()
    return (
        f"{stats.num_nodes:,} {stats.num_edges:,}",
        round(stats.degrees.mean, 1),
        stats.degrees.p99,
        stats.degrees.max,
        f"{stats.homophily:.2f}",
    )


def test_cora_and_pubmed_have_the_published_figures(data_root: Path) -> None:
    cora = datasets.load("cora", root=data_root)
    assert figures(cora) == ("2,708 10,556", 3.9, 19, 168, "0.81")
    assert cora.num_edges + cora.num_nodes == 13_264  # with self-loops, Cluster-GCN
    pubmed = datasets.load("pubmed", root=data_root)
    assert figures(pubmed) == ("19,717 88,648", 4.5, 35, 171, "0.80")
    assert pubmed.num_edges + pubmed.num_nodes == 108_365


def test_debian_has_the_figures_of_its_table() -> None:
    stats = datasets.load("debian").stats()
    assert figures(datasets.load("debian")) == ("63,436 670,836", 10.6, 79, 21_815, "0.47")
    assert (stats.num_isolated, stats.largest_component) == (1_799, 61_377)
    assert (min(stats.nodes_per_class), max(stats.nodes_per_class)) == (15, 6_703)


def test_wordnet_has_the_figures_of_its_table() -> None:
    stats = datasets.load("wordnet").stats()
    assert figures(datasets.load("wordnet")) == ("117,659 367,578", 3.1, 21, 674, "0.71")
    assert (stats.num_isolated, stats.largest_component) == (1_009, 115_426)
    assert (min(stats.nodes_per_class), max(stats.nodes_per_class)) == (42, 14_435)


@pytest.mark.slow
def test_debian_files_have_the_figures_of_their_table() -> None:
    stats = datasets.load("debian_files").stats()
    assert (stats.num_nodes, stats.num_edges) == (683_156, 3_435_026)
    assert (round(stats.degrees.mean, 1), stats.degrees.p99, stats.degrees.max) == (5.0, 41, 64_184)
    assert (stats.num_components, stats.degrees.median) == (1, 2)
    assert stats.num_labelled == 63_436
