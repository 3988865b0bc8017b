from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.conftest import from_pairs, random_out_graph
from workbench.core.errors import InputError, RunError
from workbench.graph import Graph
from workbench.partition import Partition, Partitioner, node_methods, partition

NATIVE = ("community", "kahip", "metis", "mtkahypar")  # in a child process: too slow for many examples
CHEAP = tuple(name for name in node_methods() if name not in NATIVE)


def assert_valid(made: Partition, num_parts: int) -> None:
    assert made.assignment.dtype == np.int32
    assert made.assignment.shape == (made.graph.num_nodes,)
    assert set(np.unique(made.assignment)) == set(range(num_parts))
    assert not made.assignment.flags.writeable


@pytest.mark.parametrize("method", ["random", "hash", "metis"])
def test_another_rng_seed_gives_another_partition(karate: Graph, method: str) -> None:
    made = [partition(karate, 4, method, rng_seed=rng_seed).assignment for rng_seed in range(4)]
    assert any(not np.array_equal(made[0], other) for other in made[1:])


@pytest.mark.parametrize(
    ("num_parts", "expected"), [(0, "at least 1"), (-3, "at least 1"), (35, "at most the 34 nodes"), (2.5, "whole")]
)
def test_a_number_of_parts_out_of_range_is_refused(karate: Graph, num_parts: int, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        partition(karate, num_parts, "random")


def test_an_unknown_method_and_an_unknown_parameter_are_named(karate: Graph) -> None:
    with pytest.raises(InputError, match="'metis'"):
        partition(karate, 2, "metsi")
    with pytest.raises(InputError, match="rngseed"):
        partition(karate, 2, "random", rngseed=1)


def test_contiguous_blocks_differ_by_at_most_one(karate: Graph) -> None:
    made = partition(karate, 5, "contiguous")
    assert np.ptp(np.bincount(made.assignment)) <= 1
    assert np.all(np.diff(made.assignment) >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Partitioner):
    """Returns what it is told."""

    answer: object = None

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (np.zeros(33, np.int32), "shape"),
        (np.zeros((34, 1), np.int32), "shape"),
        (np.zeros(34), "float64"),
        (np.full(34, 3, np.int32), "part 3 for node 0"),
        (np.full(34, -1, np.int64), "part -1 for node 0"),
        (None, "shape"),
    ],
)
def test_a_method_that_returns_no_partition_is_refused_by_name(karate: Graph, answer: object, fault: str) -> None:
    with pytest.raises(RunError, match=f"'Fixed' returned.*{fault}"):
        partition(karate, 3, Fixed(answer=answer))


def test_empty_parts_are_repaired_where_it_cuts_least_and_reported() -> None:
    path = from_pairs([(0, 1), (1, 2), (2, 3)], 6)  # nodes 4 and 5 are isolated: nothing is cut if they move
    made = partition(path, 3, Fixed(answer=np.zeros(6, np.int32)))
    assert made.assignment.tolist() == [0, 0, 0, 0, 1, 2]
    assert made.repaired_parts == (1, 2)
    assert made.quality().edge_cut == 0
    assert "repaired empty parts [1, 2]" in repr(made)


@given(
    num_nodes=st.integers(1, 40),
    num_edges=st.integers(0, 120),
    data=st.data(),
    method=st.sampled_from(CHEAP),
)
def test_any_graph_and_any_number_of_parts(num_nodes: int, num_edges: int, data: st.DataObject, method: str) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    num_parts = data.draw(st.integers(1, num_nodes))
    made = partition(graph, num_parts, method)
    assert_valid(made, num_parts)
    assert sum(len(made.part(part).inner_nodes) for part in range(num_parts)) == num_nodes


def test_a_part_without_training_nodes_works() -> None:
    graph = from_pairs([(0, 1), (2, 3)], 4, train_nodes=np.array([0, 1]))
    quality = partition(graph, 2, "contiguous").quality()
    assert quality.part_train_nodes.tolist() == [2, 0]
    assert quality.train_balance == 2.0


def test_asymmetric_input_keeps_its_direction_in_the_halo() -> None:
    graph = random_out_graph(60, 3)
    made = partition(graph, 4, "metis")
    for number in range(4):
        part = made.part(number)
        source, destination = graph.edge_index()
        remote = (made.assignment[destination] == number) & (made.assignment[source] != number)
        assert np.array_equal(part.halo_nodes, np.unique(source[remote]))


@pytest.mark.parametrize(
    "first", ["import workbench.partition", "wb.partition", "from workbench.partition import parts"]
)
def test_wb_partition_can_be_called_whatever_was_imported_first(first: str) -> None:
    code = (
        f"import workbench as wb\n{first}\nimport numpy as np\n"
        "graph = wb.Graph.from_edge_index(np.array([[0, 1], [1, 0]]), 4)\n"
        "assert wb.partition(graph, 2, method='contiguous').assignment.tolist() == [0, 0, 1, 1]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
