from __future__ import annotations

import html.parser
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.conftest import from_pairs
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import Partition, partition
from workbench.partition.halo import count_halos
from workbench.partition.quality import balance


def given_partition(graph: Graph, assignment: np.ndarray, num_parts: int) -> Partition:
    return Partition(
        graph=graph,
        assignment=np.asarray(assignment, dtype=np.int32),
        num_parts=num_parts,
        method="given",
        fingerprint=graph.fingerprint,
    )


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    num_nodes, num_edges = draw(st.integers(1, 30)), draw(st.integers(0, 90))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    num_parts = draw(st.integers(1, 6))
    return given_partition(graph, rng.integers(0, num_parts, num_nodes), num_parts)


@given(partitions())
def test_cut_is_edges_minus_inner_edges(made: Partition) -> None:
    quality = made.quality()
    source, destination = made.graph.edge_index()
    assert quality.edge_cut == np.sum(made.assignment[source] != made.assignment[destination])
    assert quality.edge_cut == made.graph.num_edges - quality.part_inner_edges.sum()
    assert quality.part_in_edges.sum() == made.graph.num_edges


@given(partitions())
def test_counts_agree_with_sets(made: Partition) -> None:
    quality = made.quality()
    source, destination = made.graph.edge_index()
    owner = made.assignment
    pairs = {(int(owner[v]), int(u)) for u, v in zip(source, destination, strict=True) if owner[u] != owner[v]}
    traffic = np.zeros((made.num_parts, made.num_parts), dtype=np.int64)
    for reader, node in pairs:
        traffic[reader, owner[node]] += 1
    cut_edges = np.zeros_like(traffic)
    np.add.at(cut_edges, (owner[destination], owner[source]), 1)
    np.fill_diagonal(cut_edges, 0)
    assert np.array_equal(quality.cut_edges, cut_edges)
    assert np.array_equal(quality.traffic, traffic)
    assert np.array_equal(quality.part_halo_nodes, traffic.sum(axis=1))
    assert np.array_equal(quality.part_sent, traffic.sum(axis=0))
    assert quality.comm_volume == len(pairs)
    for number in range(made.num_parts):
        part = made.part(number)
        assert part.halo_nodes.tolist() == sorted(node for reader, node in pairs if reader == number)
        assert part.boundary_nodes.tolist() == sorted({node for _, node in pairs if owner[node] == number})
        assert len(part.boundary_nodes) == quality.part_boundary_nodes[number]


@given(partitions())
def test_halo_is_bounded_by_the_directed_cut_and_gives_the_replication_factor(made: Partition) -> None:
    quality = made.quality()
    assert quality.comm_volume <= quality.edge_cut
    assert quality.replication_factor == pytest.approx(1 + quality.comm_volume / made.graph.num_nodes)
    assert quality.bytes_per_layer(64) == quality.comm_volume * 256


def test_random_parts_cut_and_replicate_as_expected(pubmed: Graph) -> None:
    num_parts, degrees = 8, np.diff(pubmed.indptr)
    expected_cut = 1 - 1 / num_parts
    expected_copies = 1 + (num_parts - 1) * np.mean(1 - (1 - 1 / num_parts) ** degrees)
    assert (expected_cut, expected_copies) == (0.875, pytest.approx(3.254, abs=5e-4))
    made = [partition(pubmed, num_parts, "random", rng_seed=rng_seed).quality() for rng_seed in range(5)]
    assert np.mean([one.edge_cut_ratio for one in made]) == pytest.approx(expected_cut, abs=0.002)
    assert np.mean([one.replication_factor for one in made]) == pytest.approx(expected_copies, abs=0.01)


METIS_K_WAY = {  # cut ratio and replication factor, mean of 3 seeds (theory, section 6)
    "cora": {2: (0.039, 1.104), 4: (0.061, 1.178), 8: (0.096, 1.281), 16: (0.139, 1.418), 32: (0.192, 1.578)},
    "pubmed": {2: (0.031, 1.088), 4: (0.058, 1.166), 8: (0.118, 1.318), 16: (0.170, 1.474), 32: (0.222, 1.650)},
}


@pytest.mark.parametrize("num_parts", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("name", METIS_K_WAY)
def test_metis_cuts_as_published(request: pytest.FixtureRequest, name: str, num_parts: int) -> None:
    graph = request.getfixturevalue(name)
    cut, copies = METIS_K_WAY[name][num_parts]
    made = [partition(graph, num_parts, "metis", scheme="kway", rng_seed=rng_seed).quality() for rng_seed in range(3)]
    assert np.mean([one.edge_cut_ratio for one in made]) == pytest.approx(cut, abs=0.015)
    assert np.mean([one.replication_factor for one in made]) == pytest.approx(copies, abs=0.04)


def test_cora_in_four_parts_has_the_figures_of_the_specification(cora: Graph) -> None:
    metis, random = partition(cora, 4).quality(), partition(cora, 4, "random").quality()
    assert (metis.edge_cut_pairs, metis.edge_cut, metis.comm_volume) == (324, 648, 476)
    assert (random.edge_cut_pairs, random.edge_cut, random.comm_volume) == (3980, 7960, 4662)
    assert sorted(metis.part_nodes) == [676, 677, 677, 678]
    assert sorted(metis.part_halo_nodes) == [102, 107, 127, 140]
    assert sorted(metis.part_boundary_nodes) == [84, 91, 97, 135]
    assert metis.replication_factor == pytest.approx(1.176, abs=5e-4)
    assert metis.edge_balance == pytest.approx(1.153, abs=5e-4)


def test_many_parts_have_no_dense_traffic_matrix() -> None:
    graph = from_pairs([(i, i + 1) for i in range(2999)], 3000)
    quality = partition(graph, 3000, "contiguous").quality()
    assert quality.traffic is None
    assert quality.comm_volume == graph.num_edges
    assert quality.part_sent.sum() == quality.comm_volume


def test_pairs_are_told_only_of_a_symmetric_graph() -> None:
    one_way = Graph.from_edge_index(np.array([[0, 1], [1, 2]]), 4)
    quality = partition(one_way, 2, "contiguous").quality()
    assert quality.edge_cut_pairs is None
    assert quality.edge_cut == 1
    assert next(quality.figures()).name == "edge_cut"


@pytest.mark.parametrize(("counts", "expected"), [([2, 2], 1.0), ([4, 0], 2.0), ([0, 0], 1.0), ([1, 2, 3], 1.5)])
def test_balance_is_the_largest_over_the_mean(counts: list[int], expected: float) -> None:
    assert balance(np.array(counts)) == expected


def test_frames_and_displays_hold_every_figure(karate: Graph) -> None:
    made = partition(karate, 4, "metis")
    quality = made.quality()
    frame, parts = quality.to_frame(), quality.parts_frame()
    assert frame.loc["comm_volume", "value"] == quality.comm_volume
    assert parts["nodes"].sum() == karate.num_nodes
    assert list(parts.index) == [0, 1, 2, 3]
    for figure in quality.figures():
        assert figure.label in repr(quality)
        assert html.escape(figure.text) in quality._repr_html_()
    html.parser.HTMLParser().feed(quality._repr_html_())
    assert "4 parts" in repr(made)


def test_memory_mapped_and_writable_inputs_count_alike(karate: Graph, tmp_path) -> None:
    assignment = np.arange(34, dtype=np.int32) % 3
    mapped = Graph.open(karate.save(tmp_path / "g"))
    for name in ("num_halo", "num_sent", "num_boundary", "num_inner_edges"):
        in_memory, from_disk = (getattr(count_halos(graph, assignment, 3), name) for graph in (karate, mapped))
        assert np.array_equal(in_memory, from_disk)


def test_bytes_per_layer_add_up_to_the_volume(karate: Graph) -> None:
    quality = partition(karate, 4, "random").quality()
    layers = quality.traffic_bytes((34, 16), bytes_per_value=2)
    assert layers.shape == (2, 4, 4)
    assert layers.sum() == 2 * quality.comm_volume * (34 + 16)
    assert np.array_equal(layers[1], quality.traffic * 32)


NO_WIDTHS = [0, -64, True, 64.0, 2.5, math.nan, math.inf, "64", None, np.float32(8), np.True_]


@pytest.mark.parametrize("width", NO_WIDTHS)
def test_widths_that_are_none_are_refused(karate: Graph, width: object) -> None:
    quality = partition(karate, 4, "random").quality()
    for widths in (width, (width,), (64, width)):
        with pytest.raises(InputError, match=r"widths: expected whole numbers from 1 up.*Fix"):
            quality.traffic_bytes(widths)
    with pytest.raises(InputError, match=r"width: expected a whole number.*Fix"):
        quality.bytes_per_layer(width)
    with pytest.raises(InputError, match="itemsize"):
        quality.bytes_per_layer(64, width)
    with pytest.raises(InputError, match="bytes_per_value"):
        quality.traffic_bytes((64,), width)


def test_no_widths_and_more_bytes_than_can_be_counted_are_refused(karate: Graph) -> None:
    quality = partition(karate, 4, "random").quality()
    with pytest.raises(InputError, match="got none"):
        quality.traffic_bytes(())
    for width in (2**61, 2**70):  # the first overflows silently in int64, the second does not fit it
        with pytest.raises(InputError, match="64 bits"):
            quality.traffic_bytes((width,))
        assert quality.bytes_per_layer(width) == quality.comm_volume * width * 4


@pytest.mark.parametrize("widths", [16, np.int64(16), (16,), np.array([16])])
def test_one_width_may_stand_by_itself(karate: Graph, widths: object) -> None:
    quality = partition(karate, 4, "random").quality()
    assert np.array_equal(quality.traffic_bytes(widths), quality.traffic[None] * 64)
    assert quality.bytes_per_layer(np.int64(16)) == quality.traffic_bytes(widths).sum()


def test_no_matrix_no_bytes() -> None:
    graph = from_pairs([(0, 1)], 2100)
    with pytest.raises(InputError, match="at most 2,048 parts"):
        partition(graph, 2100, "contiguous").quality().traffic_bytes((4,))


@pytest.mark.parametrize("num_parts", [1, 4, 34])
def test_the_picture_is_well_formed_and_has_a_bar_a_part(karate: Graph, num_parts: int) -> None:
    quality = partition(karate, num_parts, "random").quality()
    root = ElementTree.fromstring(quality.picture())
    titles = [title.text or "" for title in root.iter("title")]
    assert sum(title.endswith(" nodes") and "halo" not in title for title in titles) == num_parts
    assert sum("reads" in title for title in titles) == np.count_nonzero(quality.traffic)
    assert quality.picture() in quality._repr_html_()


def test_a_picture_of_many_parts_says_what_it_leaves_out(cora: Graph) -> None:
    assert "first 64 of 100 parts" in partition(cora, 100, "hash").quality().picture()
