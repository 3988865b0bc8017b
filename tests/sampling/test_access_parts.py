"""What a partition changes for a batch: by hand, and where the parts are the graph's communities."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph, datasets
from workbench.partition import partition
from workbench.sampling.access_parts import part_access


def interleaved_cliques(num_cliques: int, size: int) -> Graph:
    """Node v belongs to clique v modulo `num_cliques`, and reads all others of it."""
    ids = np.arange(num_cliques * size)
    source, destination = np.meshgrid(ids, ids)
    kept = (source % num_cliques == destination % num_cliques) & (source != destination)
    return Graph.from_edge_index(np.stack([source[kept], destination[kept]]))


def test_reordering_by_part_joins_what_is_read_together() -> None:
    graph = interleaved_cliques(4, 32)
    found = part_access(graph, [0, 4], (-1, -1), np.arange(128) % 4)
    assert (found.num_runs, found.num_runs_by_part) == (32, 1)
    assert (found.cut_share, found.local_share, found.local_runs, found.local_num_nodes) == (0, 1, 1, 32)
    assert found.batch_imbalance == 4, "one part of four reads everything"
    assert found.graph_imbalance == 1
    bytes_read = 32 * 31 * graph.indices.dtype.itemsize
    assert found.list_lines_by_part in (-(-bytes_read // 64), -(-bytes_read // 64) + 1)
    assert found.list_lines >= found.list_lines_by_part


def test_an_order_that_changes_nothing() -> None:
    graph = datasets.load("karate")
    found = part_access(graph, np.arange(34), (3, 3), np.zeros(34, np.int32))
    assert found.num_runs == found.num_runs_by_part
    assert found.list_lines == found.list_lines_by_part
    assert (found.num_parts, found.cut_share, found.batch_imbalance) == (1, 0, 1)


def test_moved_lists_are_the_lists_of_the_renumbered_graph() -> None:
    graph = datasets.load("karate")
    assignment = np.arange(34) % 3
    order = np.argsort(assignment, kind="stable")
    place = np.argsort(order)
    moved = Graph.from_edge_index(place[graph.edge_index()], num_nodes=34)
    seeds = np.array([4, 8, 15])
    found = part_access(graph, seeds, (-1,), assignment)
    lines = {
        int(e) * moved.indices.dtype.itemsize // 64
        for v in place[seeds]
        for e in range(moved.indptr[v], moved.indptr[v + 1])
    }
    assert found.list_lines_by_part == len(lines)


def test_parts_that_ignore_the_edges_cut_nearly_all() -> None:
    graph = datasets.load("debian")
    seeds = np.arange(0, 63_000, 100)
    random = part_access(graph, seeds, (10, 5), partition(graph, 8, "random").assignment)
    assert random.cut_share == pytest.approx(1 - 1 / 8, abs=0.02)
    good = part_access(graph, seeds, (10, 5), partition(graph, 8, "metis").assignment)
    assert good.cut_share < 0.5 * random.cut_share
    assert good.local_share > random.local_share
    assert good.local_runs < random.local_runs


def test_a_graph_without_edges_and_refusals() -> None:
    graph = Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=3)
    found = part_access(graph, [1], (5,), np.array([0, 1, 1]))
    assert (found.cut_share, found.batch_imbalance, found.list_lines) == (0, 1, 0)
    with pytest.raises(InputError) as caught:
        part_access(graph, [], (5,), np.zeros(4, np.int32))
    assert {finding.where for finding in caught.value.findings} == {"assignment", "seed_nodes"}
