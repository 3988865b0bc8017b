"""Working memory and threads: bounded, used again, and never a reason for other samples."""

from __future__ import annotations

import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from workbench.graph import Graph
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.scratch import LAST_TAG, Scratch, ScratchPool
from workbench.testing import graphs


def test_the_pool_lends_the_same_scratch_again() -> None:
    pool = ScratchPool(capacity=2)
    with pool.borrow(10) as first:
        pass
    with pool.borrow(20) as other:
        assert other is not first
    with pool.borrow(10) as again:
        assert again is first


def test_two_borrowers_never_share_and_the_pool_stays_within_its_capacity() -> None:
    pool = ScratchPool(capacity=2)
    barrier, seen = threading.Barrier(4), list[int]()

    def borrow(_: int) -> None:
        with pool.borrow(100) as scratch:
            seen.append(id(scratch))
            barrier.wait()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(borrow, range(4)))
    assert len(set(seen)) == 4
    assert pool.nbytes == 2 * 100 * 8


def test_scratch_comes_back_after_an_error() -> None:
    pool = ScratchPool(capacity=1)
    try:
        with pool.borrow(10) as first:
            raise KeyError
    except KeyError:
        pass
    with pool.borrow(10) as again:
        assert again is first


def test_samples_go_on_when_the_tags_begin_anew() -> None:
    graph, sampler, seeds = graphs.random(300, 2000), NeighborSampler(fanouts=(3, 3)), np.arange(20)
    fresh, worn = Scratch(300), Scratch(300)
    worn._tag = LAST_TAG - 2
    for batch in range(5):
        one, other = (
            sampler.sample(graph, seeds, epoch=0, batch=batch, rng_seed=0, scratch=scratch) for scratch in (fresh, worn)
        )
        assert np.array_equal(one.edge_index, other.edge_index)
    assert worn._tag == 3


def test_memory_is_bounded_and_flat_over_epochs() -> None:
    num_nodes = 500_000
    graph = Graph(
        indptr=np.arange(num_nodes + 1) * 4, indices=np.arange(4 * num_nodes, dtype=np.int32)[::-1].copy() % num_nodes
    )
    sampler = NeighborSampler(fanouts=(4, 4))

    def epoch(number: int) -> None:
        for batch in range(20):
            sampler.sample(graph, np.arange(batch, num_nodes, 5000), epoch=number, batch=batch, rng_seed=0)

    epoch(0)
    tracemalloc.start()
    try:
        epoch(1)
        after_one, _ = tracemalloc.get_traced_memory()
        for number in range(2, 6):
            epoch(number)
        after_five, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after_five - after_one < 20_000
    assert peak < 16 * num_nodes, "a batch of few nodes needs no memory for all of them beyond the slots"
    scratch = Scratch(num_nodes)
    assert scratch.slots.nbytes <= 16 * num_nodes


def test_sampling_lets_other_threads_run() -> None:
    """The longest time for which this thread stood still is far below the time in the kernels."""
    num_nodes, degree = 400_000, 16
    indices = np.random.default_rng(0).integers(0, num_nodes, num_nodes * degree, dtype=np.int32)
    graph = Graph(indptr=np.arange(num_nodes + 1) * degree, indices=indices)
    sampler = NeighborSampler(fanouts=(12,))
    sampler.sample(graph, np.arange(1), epoch=0, batch=0, rng_seed=0)
    assert min(longest_stop_ratio(sampler, graph) for _ in range(8)) < 0.2


def longest_stop_ratio(sampler: NeighborSampler, graph: Graph) -> float:
    seeds, elapsed = np.arange(graph.num_nodes), list[float]()

    def work() -> None:
        start = time.perf_counter()
        sampler.sample(graph, seeds, epoch=0, batch=0, rng_seed=0)
        elapsed.append(time.perf_counter() - start)

    thread = threading.Thread(target=work)
    thread.start()
    longest = 0.0
    last = time.perf_counter()
    while thread.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    thread.join()
    return longest / elapsed[0]
