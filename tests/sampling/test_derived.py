"""What is derived from a graph: computed once, shared, and gone with the graph; memory stays flat over epochs."""

from __future__ import annotations

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from workbench.sampling import sample
from workbench.sampling.degrees import chunks, column_norms, in_degrees, sum_over_in_edges, sum_over_out_edges
from workbench.sampling.derived import DERIVED, DerivedCache
from workbench.sampling.room import written
from workbench.testing import graphs
from workbench.testing.sampler_cases import CASES, sampler_of, with_columns


def test_a_value_is_computed_once_for_all_threads() -> None:
    cache, array, calls = DerivedCache(), np.arange(5), list[int]()

    def compute() -> int:
        calls.append(1)
        return 42

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: cache.get(array, "answer", compute), range(20))) == {42}
    assert len(calls) == 1
    assert cache.get(array, "other", lambda: 7) == 7
    assert cache.get(np.arange(5), "answer", lambda: 1) == 1, "another array, though equal"


def test_what_was_derived_goes_with_its_array() -> None:
    cache, array = DerivedCache(), np.arange(5)
    cache.get(array, "sum", array.sum)
    assert len(cache) == 1
    del array
    gc.collect()
    assert len(cache) == 0


@pytest.mark.parametrize("case", CASES)
def test_memory_is_flat_over_epochs(case: str) -> None:
    graph, sampler = with_columns(graphs.random(3000, 12_000)), sampler_of(case)
    seeds = np.arange(0, 3000, 40)

    def epoch(number: int) -> None:
        for batch in range(3):
            sampler.sample(graph, seeds, epoch=number, batch=batch, rng_seed=0)

    epoch(0)
    gc.collect()
    before = len(DERIVED)
    tracemalloc.start()
    try:
        epoch(1)
        after_one, _ = tracemalloc.get_traced_memory()
        for number in range(2, 8):
            epoch(number)
        after_seven, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after_seven - after_one < 20_000
    assert len(DERIVED) <= before


def test_a_graph_leaves_nothing_behind() -> None:
    gc.collect()
    before = len(DERIVED)
    graph = with_columns(graphs.random(300, 900))
    for case in CASES:
        sample(graph, np.arange(10), sampler_of(case))
    assert len(DERIVED) > before
    del graph
    gc.collect()
    assert len(DERIVED) == before


@pytest.mark.parametrize("name", ["karate", "multigraph", "self_loops", "directed", "no_edges", "empty"])
def test_sums_over_edges_and_column_norms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.sampling.degrees._CHUNK", 3)  # many chunks
    graph = graphs.NAMED[name]()
    source, destination = graph.edge_index()
    values = np.arange(graph.num_nodes) + 1.0
    num_nodes = graph.num_nodes
    assert sum(end - begin for begin, end in chunks(graph)) == num_nodes
    into = np.bincount(destination, values[source], minlength=num_nodes)
    out = np.bincount(source, values[destination], minlength=num_nodes)
    assert sum_over_in_edges(graph, values) == pytest.approx(into)
    assert sum_over_out_edges(graph, values) == pytest.approx(out)
    degrees = in_degrees(graph)
    for loops in (0, 1):
        share = 1.0 / np.maximum(degrees + loops, 1) ** 2.0
        wanted = np.bincount(source, share[destination], minlength=num_nodes) + loops * share
        assert column_norms(graph, self_loops=bool(loops)) == pytest.approx(wanted)


@pytest.mark.parametrize("room", [0, 3, 7, 100])
def test_a_kernel_gets_the_room_that_it_needs(room: int) -> None:
    runs = []

    def fill(values: np.ndarray) -> int:
        runs.append(len(values))
        values[:7] = np.arange(7)[: len(values)]
        return 7

    (found,) = written(fill, room_for=room, kinds=(np.int64,))
    assert found.tolist() == list(range(7))
    assert len(runs) == (1 if room >= 7 else 2)
