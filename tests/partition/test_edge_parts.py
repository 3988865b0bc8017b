from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.conftest import from_networkx, from_pairs, random_out_graph
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import EdgePartition, partition
from workbench.partition.edge_stream import reverse_edges
from workbench.partition.methods.grid_2d import grid_rows


def given_owners(graph: Graph, owners: np.ndarray, num_parts: int) -> EdgePartition:
    return EdgePartition(
        graph=graph,
        edge_assignment=owners.astype(np.int32),
        num_parts=num_parts,
        method="given",
        fingerprint=graph.fingerprint,
    )


@given(st.integers(1, 25), st.integers(0, 80), st.integers(1, 70), st.integers(0, 2**32))
def test_counts_agree_with_sets(num_nodes: int, num_edges: int, num_parts: int, rng_seed: int) -> None:
    rng = np.random.default_rng(rng_seed)
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    made = given_owners(graph, rng.integers(0, num_parts, num_edges), num_parts)
    where: list[set[int]] = [set() for _ in range(num_nodes)]
    for (source, destination), owner in zip(graph.edge_index().T, made.edge_assignment, strict=True):
        where[source].add(int(owner))
        where[destination].add(int(owner))
    copies = np.array([max(1, len(parts)) for parts in where])
    quality = made.quality()
    assert quality.replication_factor == pytest.approx(copies.mean())
    assert quality.num_cut_nodes == np.sum(copies > 1)
    assert quality.max_replicas == copies.max()
    sizes = np.bincount(made.edge_assignment, minlength=num_parts)
    assert np.array_equal(quality.part_edges, sizes), "every edge is in one part"
    assert quality.edge_balance == pytest.approx(sizes.max() * num_parts / num_edges if num_edges else 1.0)
    assert quality.node_balance == pytest.approx(quality.part_nodes.max() * num_parts / copies.sum())
    assert quality.part_nodes.sum() == copies.sum()
    assert quality.traffic is not None
    assert quality.traffic.sum() == quality.comm_volume == 2 * (copies.sum() - num_nodes)
    assert np.array_equal(quality.traffic, quality.traffic.T)
    assert not np.diag(quality.traffic).any()
    for number in range(min(num_parts, 3)):
        part = made.part(number)
        assert part.node_ids.tolist() == [node for node in range(num_nodes) if number in where[node]]
        assert np.array_equal(part.edge_ids, np.flatnonzero(made.edge_assignment == number))


@pytest.mark.parametrize("method", ["dbh", "hdrf", "greedy"])
def test_an_edge_and_its_reverse_go_to_one_part(cora: Graph, method: str) -> None:
    owners = partition(cora, 8, method).edge_assignment
    assert np.array_equal(owners, owners[reverse_edges(cora)])


def test_reverses_are_found_among_parallel_edges_and_loops() -> None:
    graph = Graph.from_edge_index(np.array([[0, 0, 1, 1, 2, 1, 2], [1, 1, 0, 0, 2, 2, 1]]), 3)
    assert graph.is_symmetric()
    reverse = reverse_edges(graph)
    source, destination = graph.edge_index()
    assert np.array_equal(source[reverse], destination)
    assert np.array_equal(destination[reverse], source)
    assert np.array_equal(reverse[reverse], np.arange(graph.num_edges))


def test_streams_replicate_less_than_hashes_and_hdrf_least(cora: Graph) -> None:
    factor = {name: partition(cora, 8, name).quality().replication_factor for name in ("dbh", "greedy", "hdrf")}
    random_factor = given_owners(cora, np.random.default_rng(0).integers(0, 8, cora.num_edges), 8).quality()
    assert factor["hdrf"] < factor["greedy"] < factor["dbh"] < random_factor.replication_factor


@pytest.mark.parametrize("method", ["hdrf", "greedy"])
@pytest.mark.parametrize("num_parts", [4, 16, 100])
def test_streams_balance_edges(cora: Graph, method: str, num_parts: int) -> None:
    made = partition(cora, num_parts, method, imbalance=0.05)
    limit = np.ceil(cora.num_edges * 1.05 / num_parts) + 1  # the reverse of an edge may be one too many
    assert made.quality().part_edges.max() <= limit


def test_hubs_are_replicated_and_leaves_are_not() -> None:
    star = from_networkx(nx.star_graph(200))
    for method in ("dbh", "hdrf"):
        quality = partition(star, 4, method).quality()
        assert quality.num_cut_nodes == 1
        assert quality.max_replicas == 4
        assert quality.comm_volume == 6


@pytest.mark.parametrize(("num_parts", "rows"), [(1, 1), (4, 2), (12, 3), (16, 4), (7, 1), (24, 4)])
def test_a_grid_is_as_square_as_it_can_be_and_bounds_the_replicas(num_parts: int, rows: int) -> None:
    assert grid_rows(num_parts) == rows
    graph = random_out_graph(200, 20)
    quality = partition(graph, num_parts, "grid_2d").quality()
    assert quality.max_replicas <= rows + num_parts // rows - 1


def test_a_saved_vertex_cut_opens_with_its_graph_alone(karate: Graph, tmp_path: Path) -> None:
    made = partition(karate, 4, "hdrf")
    opened = EdgePartition.open(made.save(tmp_path / "p"), karate)
    assert np.array_equal(opened.edge_assignment, made.edge_assignment)
    assert (opened.num_parts, opened.method, dict(opened.params)) == (4, "hdrf", dict(made.params))
    with pytest.raises(InputError, match="the graph that it was made for"):
        EdgePartition.open(tmp_path / "p", from_pairs([(0, 1)], 34))
    with pytest.raises(InputError, match="0 to 3"):
        opened.part(4)


def test_parts_without_an_edge_are_told() -> None:
    made = partition(from_pairs([(0, 1)], 6), 4, "hdrf")
    assert len(made.empty_parts) == 3
    assert "have none" in repr(made)
    assert "have no edge" in made.quality()._repr_html_()


def test_every_figure_is_shown(karate: Graph) -> None:
    quality = partition(karate, 4, "hdrf").quality()
    for figure in quality.figures():
        assert figure.label in repr(quality)
        assert figure.name in quality.to_frame().index
    assert quality.parts_frame()["edges"].sum() == karate.num_edges
    assert quality.traffic_bytes((16, 8)).shape == (2, 4, 4)
    assert "<svg" in quality._repr_html_()
