"""The streamed R-MAT: the same graph whatever the threads and buckets, equal to drawing every edge at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.graph.csc import build_csc
from workbench.graph.rmat_kernels import draw_edges
from workbench.graph.rmat_stream import RmatStream, buckets_of


def all_edges(stream: RmatStream) -> tuple[np.ndarray, np.ndarray]:
    """Draw every edge in one block."""
    key, levels, cuts = stream.kernel_arguments
    count = stream.num_edges
    words, source, destination = np.empty(count, np.uint64), np.empty(count, np.uint32), np.empty(count, np.uint32)
    draw_edges(key, 0, count, levels, cuts, stream.num_nodes, words, source, destination)
    return source.astype(np.int64), destination.astype(np.int64)


@pytest.mark.parametrize(("num_threads", "bucket_edges"), [(1, 1 << 20), (2, 1000), (3, 7)])
def test_threads_and_buckets_change_nothing(tmp_path: Path, num_threads: int, bucket_edges: int) -> None:
    stream = RmatStream(num_nodes=700, num_edges=9000, num_threads=num_threads, bucket_edges=bucket_edges)
    graph = Graph.open(stream.save(tmp_path / "g"), verify=True)
    expected = build_csc(*all_edges(stream), 700)
    np.testing.assert_array_equal(graph.indptr, expected.indptr)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    assert graph.indices.dtype == np.int32
    assert graph.meta["generator"] == "rmat"


def test_an_edge_is_a_function_of_its_number() -> None:
    stream = RmatStream(num_nodes=1000, num_edges=5000)
    key, levels, cuts = stream.kernel_arguments
    words, source, destination = np.empty(100, np.uint64), np.empty(100, np.uint32), np.empty(100, np.uint32)
    draw_edges(key, 4321, 100, levels, cuts, 1000, words, source, destination)
    sources, destinations = all_edges(stream)
    np.testing.assert_array_equal(source, sources[4321:4421])
    np.testing.assert_array_equal(destination, destinations[4321:4421])


def test_permuted_ids_are_one_to_one() -> None:
    """With all edges in the last quarter every id is the same one; with equal quarters all ids are alike."""
    lone = all_edges(RmatStream(num_nodes=1024, num_edges=100, a=0, b=0, c=0))
    assert len(np.unique(np.concatenate(lone))) == 1
    source, destination = all_edges(RmatStream(num_nodes=1024, num_edges=200_000, a=0.25, b=0.25, c=0.25))
    for ids in (source, destination):
        counts = np.bincount(ids, minlength=1024)
        chi_square = np.sum((counts - counts.mean()) ** 2) / counts.mean()
        assert 1023 - 5 * np.sqrt(2 * 1023) < chi_square < 1023 + 5 * np.sqrt(2 * 1023)
    assert abs(np.corrcoef(source, destination)[0, 1]) < 0.02


def test_degrees_are_those_of_rmat() -> None:
    """The node of all zeros gets (a + c)^levels of the in-edges, one with a bit set (a + c)^(levels - 1) (b + d)."""
    stream = RmatStream(num_nodes=4096, num_edges=400_000)
    degrees = np.sort(np.bincount(all_edges(stream)[1], minlength=4096))[::-1]
    expected = 400_000 * 0.76**12
    assert degrees[0] == pytest.approx(expected, abs=5 * expected**0.5)
    assert degrees[1:13].mean() == pytest.approx(expected * 0.24 / 0.76, rel=0.03)
    hubs = np.argsort(np.bincount(all_edges(stream)[1], minlength=4096))[::-1][:200]
    assert hubs.mean() == pytest.approx(2048, abs=5 * 4096 / 12**0.5 / 200**0.5), "an id says nothing of its degree"


def test_folding_keeps_ids_in_range() -> None:
    source, destination = all_edges(RmatStream(num_nodes=1025, num_edges=50_000))
    assert max(source.max(), destination.max()) < 1025
    assert len(np.unique(source)) > 700


@pytest.mark.parametrize(("num_nodes", "num_edges"), [(1, 0), (1, 5), (10, 0), (2, 3)])
def test_small_graphs(tmp_path: Path, num_nodes: int, num_edges: int) -> None:
    graph = Graph.open(RmatStream(num_nodes=num_nodes, num_edges=num_edges).save(tmp_path / "g"), verify=True)
    assert (graph.num_nodes, graph.num_edges) == (num_nodes, num_edges)


def test_buckets_by_hand() -> None:
    indptr = np.array([0, 2, 2, 7, 8, 9, 9])
    assert buckets_of(indptr, 3) == [(0, 2), (2, 3), (3, 6)]
    assert buckets_of(indptr, 100) == [(0, 6)]
    assert buckets_of(np.zeros(4, np.int64), 3) == []


def test_progress_and_refusals(tmp_path: Path) -> None:
    told: list[str] = []
    path = RmatStream(num_nodes=50, num_edges=500).save(tmp_path / "g", lambda name, _fraction: told.append(name))
    assert list(dict.fromkeys(told)) == ["counting", "placing", "hashing"]
    assert [file.name for file in tmp_path.iterdir()] == ["g"], "nothing is left beside it"
    with pytest.raises(InputError, match="not there yet"):
        RmatStream(num_nodes=50, num_edges=500).save(path)
    with pytest.raises(InputError) as caught:
        RmatStream(num_nodes=0, num_edges=-1, a=0.9, b=0.3)
    assert len(caught.value.findings) == 3
