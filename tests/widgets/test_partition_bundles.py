"""Edges of large graphs: bundles that lose none, and single edges for a closer look."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.graph import Graph, datasets
from workbench.graph.layout import compute_layout
from workbench.widgets import partition_bundles as bundles
from workbench.widgets.partition_explorer import PartitionExplorer
from workbench.widgets.partition_pack import pack_map, pack_sketch
from workbench.widgets.transport import encode

WHOLE = (0.0, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return datasets.load("rmat", num_nodes=2000, num_edges=9000)


@pytest.fixture(scope="module")
def positions(graph: Graph) -> np.ndarray:
    return compute_layout(graph).positions


def pairs_of(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    source, destination = graph.edge_index()
    return source[source < destination], destination[source < destination]


@pytest.mark.parametrize("part", [None, 2])
def test_bundles_count_every_edge_once_by_kind(graph: Graph, positions: np.ndarray, part: int | None) -> None:
    assignment = (np.arange(graph.num_nodes) * 7 % 5).astype(np.int32)
    cells = bundles.Cells.of(positions, WHOLE)
    found = bundles.bundle(graph, cells, assignment, part)
    source, destination = pairs_of(graph)
    apart = cells.of_node[source] != cells.of_node[destination]
    assert found["num_short"] == np.count_nonzero(~apart)
    assert found["num_bundled"] == np.count_nonzero(apart) == found["counts"].sum()
    cut = apart & (assignment[source] != assignment[destination])
    near = cut & ((assignment[source] == part) | (assignment[destination] == part)) if part is not None else cut & False
    assert found["counts"].sum(axis=0).tolist() == [
        np.count_nonzero(apart & ~cut),
        np.count_nonzero(cut & ~near),
        np.count_nonzero(near),
    ]
    assert (found["pairs"][:, 0] < found["pairs"][:, 1]).all()


def test_only_the_largest_bundles_are_kept_and_the_rest_is_told(
    graph: Graph, positions: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, assignment = bundles.Cells.of(positions, WHOLE), np.zeros(graph.num_nodes, np.int32)
    everything = bundles.bundle(graph, cells, assignment, None)
    monkeypatch.setattr(bundles, "MAX_BUNDLES", 50)
    found = bundles.bundle(graph, cells, assignment, None)
    assert (len(found["pairs"]), found["num_bundles"]) == (50, len(everything["pairs"]))
    assert found["num_bundled"] == np.sort(everything["counts"].sum(axis=1))[-50:].sum()


def test_a_cell_stands_at_the_mean_of_its_nodes_inside_the_box(positions: np.ndarray) -> None:
    box = (0.3, 0.3, 0.6, 0.7)
    cells = bundles.Cells.of(positions, box)
    assert np.array_equal(cells.of_node >= 0, bundles.is_inside(positions, box))
    for cell in range(len(cells.middles)):
        np.testing.assert_allclose(cells.middles[cell], positions[cells.of_node == cell].mean(axis=0), atol=1e-6)


def test_a_closer_look_gives_single_edges_and_refuses_too_many(
    graph: Graph, positions: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = (0.4, 0.4, 0.6, 0.6)
    source, destination = pairs_of(graph)
    inside = bundles.is_inside(positions, box)
    expected = np.count_nonzero(inside[source] & inside[destination])
    single = bundles.edges_inside(graph, positions, box)
    assert single is not None
    assert len(single) == expected > 20
    assert inside[single].all()
    assert len(np.unique(np.sort(single, axis=1), axis=0)) == expected
    monkeypatch.setattr(bundles, "MAX_SINGLE", expected - 1)
    assert bundles.edges_inside(graph, positions, box) is None
    packed = bundles.pack_edges(graph, positions, box, [np.zeros(graph.num_nodes, np.int32)], None)
    assert packed["edges"] is None
    assert packed["bundles"]["columns"][0]["num_bundled"] + packed["bundles"]["columns"][0]["num_short"] == expected


def test_edges_of_a_directed_graph_are_bundled_each() -> None:
    graph = Graph.from_edge_index(np.array([[0, 1, 2], [1, 0, 0]]), 3)
    places = np.array([[0.1, 0.1], [0.9, 0.9], [0.9, 0.1]], dtype=np.float32)
    found = bundles.bundle(graph, bundles.Cells.of(places, WHOLE), np.array([0, 1, 1], np.int32), None)
    assert sorted(map(tuple, found["counts"].tolist())) == [(0, 1, 0), (0, 2, 0)]


def test_a_million_nodes_travel_in_less_than_eight_megabytes() -> None:
    """Everything that a first look at two partitions needs; the graph has a path for edges, so that it is made fast."""
    num_nodes = 1_000_000
    nodes = np.arange(num_nodes - 1)
    graph = Graph.from_edge_index(np.stack([nodes, nodes + 1]), num_nodes)
    rng = np.random.default_rng(0)
    assignment = rng.integers(0, 8, num_nodes).astype(np.int32)
    placed = compute_layout(datasets.load("karate"))
    placed = type(placed)(
        positions=rng.random((num_nodes, 2), dtype=np.float32), strip_y=0.0, num_small_components=0, num_small_nodes=0
    )
    edges = bundles.pack_edges(graph, placed.positions, WHOLE, [assignment, assignment], None)
    columns = [{"assignment": assignment.astype(np.uint8)}] * 2
    parts = [pack_map(graph, placed), edges, *columns]
    assert parts[0]["is_bundled"]
    assert sum(buffer.nbytes for part in parts for buffer in encode(part)[1]) < 8e6
    assert sum(buffer.nbytes for buffer in encode(pack_sketch(graph, placed))[1]) < 4.1e6


def test_a_sketch_is_answered_while_a_partition_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view_of: object
) -> None:
    from workbench.partition.methods import metis

    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    layout = sys.modules["workbench.graph.layout"]  # the package has a function of that name
    monkeypatch.setattr(layout, "SKETCH_FROM", 500)
    script = tmp_path / "child.py"
    script.write_text("import time\ntime.sleep(600)")
    monkeypatch.setattr(metis, "CHILD_SCRIPT", script)
    explorer = PartitionExplorer(datasets.load("rmat", num_nodes=3000, num_edges=20_000))
    view = view_of(explorer)  # type: ignore[operator]
    view.say("ask", id="1", question="sketch", arguments={})
    (answer,) = view.wait("answer")
    assert answer["body"]["map"]["is_sketch"]
    assert explorer.partitions == {}
    view.say("ask", id="2", question="map", arguments={})
    assert view.wait("progress")[-1]["text"] == "the layout comes after the partitions"
    explorer._command_cancel()
    (cancelled,) = [answer for answer in view.wait("answer", 3) if answer["id"] == "2"]  # the partition's too
    assert cancelled["cancelled"]
    explorer.close()
