from __future__ import annotations

import subprocess
import sys
import threading
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.errors import Cancelled
from workbench.graph import Graph, datasets, layout, layout_sketch
from workbench.graph import layout as layout_function
from workbench.graph.symmetric import symmetric_topology

layout_module = sys.modules["workbench.graph.layout"]


def from_networkx(graph: nx.Graph) -> Graph:
    edges = np.array(list(nx.convert_node_labels_to_integers(graph).edges()), dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(np.concatenate([edges, edges[::-1]], axis=1), graph.number_of_nodes())


def assert_in_unit_square(positions: np.ndarray, num_nodes: int) -> None:
    assert positions.shape == (num_nodes, 2)
    assert positions.dtype == np.float32
    assert np.isfinite(positions).all()
    assert positions.size == 0 or (positions.min() >= 0 and positions.max() <= 1)


@given(num_nodes=st.integers(1, 60), num_edges=st.integers(0, 150), rng_seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_any_graph_is_placed_in_the_unit_square(num_nodes: int, num_edges: int, rng_seed: int) -> None:
    rng = np.random.default_rng(rng_seed)
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    assert_in_unit_square(layout_module.compute_layout(graph).positions, num_nodes)


@pytest.mark.parametrize(
    "graph",
    [nx.star_graph(300), nx.complete_graph(40), nx.path_graph(500), nx.empty_graph(70), nx.grid_2d_graph(20, 20)],
    ids=["star", "clique", "path", "isolated", "grid"],
)
def test_awkward_graphs(graph: nx.Graph) -> None:
    positions = layout(from_networkx(graph))
    assert_in_unit_square(positions, graph.number_of_nodes())
    assert np.ptp(positions, axis=0).max() > 0.4
    assert len(np.unique(positions, axis=0)) > 0.95 * graph.number_of_nodes()


def test_no_nodes() -> None:
    assert_in_unit_square(layout(Graph.from_edge_index(np.zeros((2, 0), np.int64), 0)), 0)


def test_deterministic_without_the_cache() -> None:
    graph = from_networkx(nx.barabasi_albert_graph(400, 3, seed=1))
    first, second = (layout_module.compute_layout(graph, rng_seed=5).positions for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, layout_module.compute_layout(graph, rng_seed=6).positions)


def test_neighbours_lie_closer_than_strangers() -> None:
    graph = from_networkx(nx.grid_2d_graph(30, 30))
    positions = layout(graph)
    source, destination = graph.edge_index()
    edges = np.linalg.norm(positions[source] - positions[destination], axis=1)
    strangers = np.linalg.norm(positions - positions[np.random.default_rng(0).permutation(900)], axis=1)
    assert np.median(edges) < 0.15 * np.median(strangers)


def test_communities_are_apart() -> None:
    graph = nx.planted_partition_graph(4, 60, 0.2, 0.004, seed=3)
    positions, block = layout(from_networkx(graph)), np.repeat(np.arange(4), 60)
    middles = np.stack([positions[block == i].mean(axis=0) for i in range(4)])
    nearest = np.linalg.norm(positions[:, None] - middles[None], axis=2).argmin(axis=1)
    assert np.mean(nearest == block) > 0.9


def test_small_components_stand_in_a_strip_below() -> None:
    graph = nx.disjoint_union_all([nx.barabasi_albert_graph(300, 2, seed=0), *[nx.path_graph(3)] * 20])
    made = layout_module.lay_out(from_networkx(graph))
    assert (made.num_small_components, made.num_small_nodes) == (20, 60)
    assert 0.1 < made.strip_y < 0.4
    assert made.positions[:300, 1].min() > made.strip_y
    assert made.positions[300:, 1].max() < made.strip_y


def test_it_is_kept_and_a_torn_file_is_made_anew(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    graph = from_networkx(nx.barabasi_albert_graph(120, 2, seed=0))
    first = layout(graph)
    (path,) = (tmp_path / "graphs" / "layouts").iterdir()
    monkeypatch.setattr(layout_module, "compute_layout", None)  # calling it would fail
    assert np.array_equal(layout(graph), first)
    monkeypatch.undo()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    path.write_bytes(path.read_bytes()[:100])
    assert np.array_equal(layout(graph), first)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_progress_grows_to_one_and_cancel_stops(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    graph, told = from_networkx(nx.barabasi_albert_graph(500, 2, seed=2)), []
    layout(graph, progress=lambda fraction, text: told.append(fraction))
    assert told == sorted(told)
    assert len(told) > 20
    assert told[-1] == 1.0
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        layout_module.compute_layout(graph, progress=lambda fraction, text: cancel.set(), cancel=cancel)


def test_a_large_graph_is_sketched_first_and_the_layout_keeps_what_the_sketch_showed(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    graph = nx.disjoint_union_all([nx.grid_2d_graph(40, 45), *[nx.path_graph(4)] * 10])
    graph = from_networkx(graph)
    assert layout_module.sketch_layout(graph) is None, "it is laid out in the same time"
    monkeypatch.setattr(layout_module, "SKETCH_FROM", 1000)
    monkeypatch.setattr(layout_sketch, "NUM_REGIONS", 100)
    rough = layout_module.sketch_layout(graph)
    assert_in_unit_square(rough.positions, 1840)
    assert np.array_equal(rough.positions, layout_module.sketch_layout(graph).positions)
    assert (rough.num_small_components, rough.num_small_nodes) == (10, 40)
    made = layout_module.lay_out(graph)
    assert np.array_equal(rough.positions[1800:], made.positions[1800:]), "the strip stays"
    for axis in range(2):
        assert np.corrcoef(rough.positions[:1800, axis], made.positions[:1800, axis])[0, 1] > 0.6
    source, destination = graph.edge_index()
    for positions in (rough.positions, made.positions):
        length = np.linalg.norm(positions[source] - positions[destination], axis=1)
        strangers = np.linalg.norm(positions[source] - positions[np.random.default_rng(0).permutation(source)], axis=1)
        assert np.median(length) < 0.6 * np.median(strangers)
    assert np.array_equal(layout_module.kept_layout(graph).positions, made.positions)
    assert layout_module.kept_layout(graph, rng_seed=1) is None


class After:
    """A cancel signal that is set from its n-th look on."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_a_sketch_stops_at_whatever_step_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = from_networkx(nx.disjoint_union(nx.grid_2d_graph(40, 45), nx.path_graph(4)))
    monkeypatch.setattr(layout_module, "SKETCH_FROM", 1000)
    monkeypatch.setattr(layout_sketch, "NUM_REGIONS", 100)
    whole = layout_module.sketch_layout(graph).positions
    monkeypatch.setattr(layout_sketch, "NODES_A_STEP", 500)
    never = After(10_000)
    assert np.array_equal(layout_module.sketch_layout(graph, cancel=never).positions, whole), "steps change nothing"
    looks = 10_000 - never.left
    assert looks > 3 + 2 * 4 + 4, (
        "before and after the topology, at every step over the nodes, at every round of forces"
    )
    for after in range(looks):
        with pytest.raises(Cancelled):
            layout_module.sketch_layout(graph, cancel=After(after))
        with pytest.raises(Cancelled):
            layout_module.compute_layout(graph, cancel=After(after))


def test_laying_out_leaves_the_interpreter_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel answers while it lays out: no step holds the interpreter's lock for long."""
    graph = datasets.load("rmat", num_nodes=2**17, num_edges=400_000)
    layout_module.compute_layout(datasets.load("rmat"))  # compiles
    waits: list[float] = []
    done = threading.Event()

    def watch() -> None:
        last = time.perf_counter()
        while not done.wait(0.001):
            now = time.perf_counter()
            waits.append(now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    layout_module.compute_layout(graph)
    done.set()
    watcher.join()
    assert len(waits) > 100
    assert sum(wait for wait in waits if wait > 0.1) < 0.3 * sum(waits)


def test_symmetric_topology_adds_weights_of_both_directions() -> None:
    graph = Graph.from_edge_index(np.array([[0, 1, 1, 2, 2, 2], [1, 0, 1, 0, 0, 1]]), 4)
    starts, adjacent, weights = symmetric_topology(graph)
    assert (starts.tolist(), adjacent.tolist()) == ([0, 2, 4, 6, 6], [1, 2, 0, 2, 0, 1])
    assert weights is not None
    assert weights.tolist() == [2, 2, 2, 1, 2, 1]


@pytest.mark.parametrize("first", ["import workbench.graph.layout", "pass"])
def test_layout_can_be_called_whatever_was_imported_first(first: str) -> None:
    code = (
        f"{first}\nfrom workbench.graph import Graph, layout\nimport numpy as np\n"
        "assert layout(Graph.from_edge_index(np.array([[0, 1], [1, 0]]), 4)).shape == (4, 2)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert callable(layout_function)
