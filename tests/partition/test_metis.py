from __future__ import annotations

import os
import runpy
import textwrap
import threading
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from tests.partition.conftest import from_networkx, from_pairs, random_out_graph
from workbench.core.errors import InputError, RunError
from workbench.graph import Graph
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import Cancelled, partition
from workbench.partition.child import ChildJob, run_child
from workbench.partition.methods import metis


@pytest.mark.parametrize("scheme", ["auto", "kway", "recursive"])
@pytest.mark.parametrize("num_parts", [9, 10, 11, 12, 17, 34])
def test_karate_club_in_many_parts_has_no_empty_part(karate: Graph, num_parts: int, scheme: str) -> None:
    made = partition(karate, num_parts, "metis", scheme=scheme)
    assert len(np.unique(made.assignment)) == num_parts


def test_k_way_metis_leaves_parts_empty_and_the_repair_says_which(karate: Graph) -> None:
    made = [partition(karate, num_parts, "metis", scheme="kway") for num_parts in (9, 10, 11, 12, 17)]
    assert any(one.repaired_parts for one in made)


@pytest.mark.parametrize(("num_nodes", "num_parts"), [(300, 8), (200, 16), (100, 8)])
@pytest.mark.parametrize("rng_seed", [0, 1])
def test_asymmetric_graphs_are_partitioned_with_balance(num_nodes: int, num_parts: int, rng_seed: int) -> None:
    made = partition(random_out_graph(num_nodes, 3, rng_seed), num_parts, "metis")
    sizes = np.bincount(made.assignment, minlength=num_parts)
    assert sizes.min() > 0
    assert sizes.max() <= 1.35 * num_nodes / num_parts


GRAPHS = {
    "star": lambda: from_networkx(nx.star_graph(49)),
    "clique": lambda: from_networkx(nx.complete_graph(30)),
    "disconnected": lambda: from_networkx(nx.disjoint_union_all([nx.cycle_graph(5)] * 8)),
    "isolated nodes": lambda: from_pairs([(0, 1), (1, 2)], 40),
    "no edges": lambda: from_pairs([], 20),
    "loops only": lambda: Graph.from_edge_index(np.array([[0, 1, 2], [0, 1, 2]]), 12),
    "duplicate edges": lambda: from_pairs([(0, 1)] * 9 + [(1, 2), (2, 3), (3, 0)], 10),
    "one edge": lambda: from_pairs([(0, 1)], 2),
}


@pytest.mark.parametrize("num_parts", [1, 2, 7, None])
@pytest.mark.parametrize("name", GRAPHS)
def test_awkward_graphs(name: str, num_parts: int | None) -> None:
    graph = GRAPHS[name]()
    num_parts = min(num_parts or graph.num_nodes, graph.num_nodes)
    made = partition(graph, num_parts, "metis")
    assert len(np.unique(made.assignment)) == num_parts


def test_what_metis_is_given_is_symmetric_without_loops_and_counts_edges() -> None:
    graph = Graph.from_edge_index(np.array([[0, 1, 1, 2, 2, 2], [1, 0, 1, 0, 0, 1]]), 4)
    starts, adjacent, weights = symmetric_topology(graph)
    assert starts.tolist() == [0, 2, 4, 6, 6]
    assert adjacent.tolist() == [1, 2, 0, 2, 0, 1]
    assert weights is not None
    assert weights.tolist() == [2, 2, 2, 1, 2, 1]


def test_a_symmetric_graph_is_handed_over_without_a_copy(karate: Graph) -> None:
    starts, adjacent, weights = symmetric_topology(karate)
    assert np.shares_memory(adjacent, karate.indices)
    assert np.shares_memory(starts, karate.indptr)
    assert weights is None


@pytest.mark.parametrize(
    "params", [{"objective": "volume"}, {"balance": "edges"}, {"imbalance": 0.2}, {"num_tries": 3}, {"scheme": "kway"}]
)
def test_every_parameter_is_taken(cora: Graph, params: dict[str, object]) -> None:
    quality = partition(cora, 4, "metis", **params).quality()
    assert quality.edge_cut_ratio < 0.12
    assert quality.node_balance < 1.6


def test_balance_of_in_edges_is_better_when_asked_for(cora: Graph) -> None:
    by_nodes, by_edges = (partition(cora, 8, "metis", balance=balance).quality() for balance in ("nodes", "edges"))
    assert by_edges.edge_balance < by_nodes.edge_balance
    assert by_edges.edge_balance < 1.1


def test_a_parameter_out_of_range_is_refused(karate: Graph) -> None:
    with pytest.raises(InputError, match="scheme"):
        partition(karate, 4, "metis", scheme="fast")


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Put another script in the place of METIS's child."""

    def inject(body: str) -> None:
        head = "import os, signal, sys, time, json\nfrom pathlib import Path\nimport numpy as np\n"
        head += "folder = Path(sys.argv[1])\n"
        script = tmp_path / "child.py"
        script.write_text(head + textwrap.dedent(body))
        monkeypatch.setattr(metis, "CHILD_SCRIPT", script)

    return inject


def test_a_crash_is_an_error_and_this_process_lives(karate: Graph, child) -> None:
    child("os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(RunError, match=r"METIS crashed with SIGSEGV.*unharmed"):
        partition(karate, 4)


def test_a_child_that_the_system_killed_hints_at_memory(karate: Graph, child) -> None:
    child("os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(RunError, match=r"SIGKILL \(often .* memory\)"):
        partition(karate, 4)


def test_a_hang_that_ignores_sigterm_is_killed_at_its_deadline(karate: Graph, child, tmp_path: Path) -> None:
    child(f"""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
        time.sleep(600)
    """)
    start = time.monotonic()
    with pytest.raises(RunError, match=r"did not finish within 2 s and was killed"):
        partition(karate, 4, deadline_s=2.0)
    assert time.monotonic() - start < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_caller_can_cancel(karate: Graph, child) -> None:
    child("time.sleep(600)")
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(Cancelled, match="METIS was cancelled"):
        partition(karate, 4, cancel=cancel)


def test_a_failure_shows_the_last_output(karate: Graph, child) -> None:
    child("sys.exit('Input Error: no memory for the graph')")
    with pytest.raises(RunError, match=r"exit status 1(?s:.*)no memory for the graph"):
        partition(karate, 4)


RESULT = "(folder / 'result.json').write_text(json.dumps({'elapsed_s': 0.0}))\n"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("pass", "without a readable result"),
        ("(folder / 'result.json').write_text('{')", "without a readable result"),
        (RESULT + "np.save(folder / 'assignment.npy', np.zeros(3, np.int64))", "shape"),
        (RESULT + "np.save(folder / 'assignment.npy', np.full(34, 99))", "part 99 for node 0"),
        (RESULT + "np.save(folder / 'assignment.npy', np.zeros(34))", "float64"),
        (RESULT + "(folder / 'assignment.npy').write_bytes(b'garbage')", "without a readable result"),
    ],
)
def test_wrong_output_is_refused(karate: Graph, child, body: str, fault: str) -> None:
    child(body)
    with pytest.raises(RunError, match=fault):
        partition(karate, 4)


def test_empty_parts_from_the_child_are_repaired_and_reported(karate: Graph, child) -> None:
    child(RESULT + "np.save(folder / 'assignment.npy', np.arange(34) % 2)")
    made = partition(karate, 4)
    assert made.repaired_parts == (2, 3)


def test_the_child_loads_neither_torch_nor_the_workbench() -> None:
    source = Path(metis.CHILD_SCRIPT).read_text()
    assert "workbench" not in source
    assert "torch" not in source


def test_the_seconds_of_the_partitioner_itself_are_told_apart(karate: Graph) -> None:
    made = partition(karate, 4)
    assert 0 < made.native_s < made.elapsed_s


def test_several_balances_are_kept_at_once(cora: Graph) -> None:
    made = {name: partition(cora, 8, "metis", balance=name).quality() for name in ("nodes", "nodes+edges+train")}
    for name in ("node_balance", "edge_balance"):
        assert getattr(made["nodes+edges+train"], name) < 1.08
    assert made["nodes+edges+train"].train_balance < 1.2 < made["nodes"].train_balance
    assert made["nodes+edges+train"].edge_cut_ratio < 0.13


@pytest.mark.parametrize("scheme", ["kway", "recursive"])
def test_without_training_nodes_their_balance_asks_for_nothing(karate: Graph, scheme: str) -> None:
    made = partition(karate, 4, "metis", balance="nodes+train", scheme=scheme)
    assert len(np.unique(made.assignment)) == 4


def test_where_metis_hides_its_calls_one_weight_and_moves_do(cora: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    own = partition(cora, 6, "metis")
    monkeypatch.setattr(metis, "LIBRARY", "pymetis")
    assert np.array_equal(partition(cora, 6, "metis").assignment, own.assignment)
    quality = partition(cora, 6, "metis", balance="nodes+edges").quality()
    assert quality.node_balance < 1.08
    assert quality.edge_balance < 1.08
    assert quality.edge_cut_ratio < 0.2


def valid_arrays() -> dict[str, np.ndarray]:
    """A path of three nodes."""
    return {"starts": np.array([0, 1, 3, 4]), "adjacent": np.array([1, 0, 2, 1])}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"starts": np.array([0, 1, 3, 5])}, "starts must run"),
        ({"starts": np.array([1, 1, 3, 4])}, "starts must run"),
        ({"adjacent": np.array([1, 0, 3, 1])}, "adjacent must hold"),
        ({"adjacent": np.array([1, 0, -1, 1])}, "adjacent must hold"),
        ({"edge_weights": np.ones(5, np.int64)}, "edge_weights must have 4"),
        ({"edge_weights": np.full(4, 1.5)}, "edge_weights must hold whole numbers, not float64"),
        ({"edge_weights": np.array([1, -1, 1, 1])}, "edge_weights must not be negative"),
        ({"node_weights": np.ones((3, 1), np.float32)}, "node_weights must hold whole numbers, not float32"),
        ({"node_weights": np.full((3, 1), True)}, "node_weights must hold whole numbers, not bool"),
        ({"node_weights": np.array([[2**62], [2**62], [2**63 - 2**62]])}, ""),  # their sum is no int64
        ({"starts": np.array([0.0, 1, 3, 4])}, "starts must hold whole numbers"),
        ({"node_weights": np.ones(6, np.int64)}, "node_weights must be"),
        ({"node_weights": np.ones((4, 2), np.int64)}, "node_weights must be"),
        ({"node_weights": np.array([[1], [-1], [1]])}, "negative"),
        ({"node_weights": np.array([[1, 0], [1, 0], [1, 0]])}, "weigh nothing"),
    ],
)
def test_lengths_are_checked_before_metis_reads_them(changes: dict[str, np.ndarray], fault: str) -> None:
    job = ChildJob(
        what="METIS",
        script=metis.CHILD_SCRIPT,
        arrays=valid_arrays() | changes,
        options={"num_parts": 2, "recursive": True, "metis_options": {}},
        deadline_s=60.0,
    )
    if not fault:
        assert sorted(np.unique(run_child(job, ("assignment",))["assignment"])) == [0, 1]
        return
    with pytest.raises(RunError, match=fault):
        run_child(job, ("assignment",))


def test_weights_beyond_metis_integers_are_scaled() -> None:
    child = runpy.run_path(str(metis.CHILD_SCRIPT), run_name="child")
    weights = np.array([[2**60, 1], [2**61, 2], [0, 3]], dtype=np.int64)
    for width in (np.dtype(np.int32), np.dtype(np.int64)):
        fitted = child["fit_width"](weights, width)
        assert fitted.dtype == width
        assert fitted[:, 0].sum(dtype=np.float64) <= np.iinfo(width).max
        assert fitted[1, 0] == pytest.approx(2 * fitted[0, 0], rel=1e-6)
        assert fitted[:, 1].tolist() == [1, 2, 3]


def test_more_edges_than_the_width_counts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pymetis

    child = runpy.run_path(str(metis.CHILD_SCRIPT), run_name="child")
    monkeypatch.setattr(pymetis, "zero_copy_dtype", lambda: np.dtype(np.int8))
    arrays = {"starts": np.array([0, 200]), "adjacent": np.zeros(200, dtype=np.int64)}
    with pytest.raises(SystemExit, match="counts edges in 8 bits"):
        child["prepare"]({"metis_options": {}}, arrays)


def test_the_memory_of_the_child_is_told(karate: Graph) -> None:
    assert partition(karate, 4).peak_memory_bytes > 10_000_000  # an interpreter with NumPy alone takes more
