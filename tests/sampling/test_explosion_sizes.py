"""Sizes of single seeds: the same on any number of threads, exact up to 10,000, an estimate with its error beyond."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.graph import datasets
from workbench.sampling import explosion_sizes
from workbench.sampling.explosion_record import Spread, mean_error
from workbench.sampling.explosion_seeds import random_seeds
from workbench.sampling.explosion_sizes import EXACT_SEEDS, iter_seed_sizes, neighborhood_sizes, seed_sizes
from workbench.testing.neighborhoods import count_neighborhood


def test_threads_change_nothing() -> None:
    graph = datasets.load("rmat", num_nodes=2000, num_edges=20_000)
    seeds = random_seeds(graph, 500, batch=0)
    one, three = (neighborhood_sizes(graph, seeds, depth=3, num_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    for row in (0, 7, 8, 71, 72, 499):
        assert one[row].tolist() == count_neighborhood(graph, [int(seeds[row])], 3)[0]


def test_given_seeds_are_measured_exactly_and_once() -> None:
    graph = datasets.load("karate")
    found = seed_sizes(graph, [3, 5, 3, 9], depth=2)
    assert found.is_exact
    assert sorted(found.seed_nodes.tolist()) == [3, 5, 9]
    assert found.error.tolist() == [0, 0, 0]
    expected = np.mean([count_neighborhood(graph, [v], 2)[0] for v in (3, 5, 9)], axis=0)
    np.testing.assert_allclose(found.mean, expected)


def test_exact_up_to_the_limit_and_an_estimate_beyond() -> None:
    graph = datasets.load("rmat", num_nodes=12_000, num_edges=60_000)
    exact = seed_sizes(graph, np.arange(EXACT_SEEDS), depth=2)
    assert exact.is_exact
    assert len(exact.sizes) == 10_000
    estimate = seed_sizes(graph, np.arange(12_000), depth=2)
    assert (len(estimate.sizes), estimate.num_population, estimate.is_exact) == (10_000, 12_000, False)
    everything = neighborhood_sizes(graph, np.arange(12_000), depth=2).mean(axis=0)
    assert np.all(np.abs(estimate.mean - everything) <= 2 * estimate.error)
    assert 0 < estimate.error[2] < 0.02 * everything[2]


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    graph = datasets.load("rmat", num_nodes=3000, num_edges=9000)
    truth = neighborhood_sizes(graph, np.arange(3000), depth=2).mean(axis=0)[2]
    results = [seed_sizes(graph, num_seeds=400, depth=2, rng_seed=draw) for draw in range(100)]
    covered = sum(abs(found.mean[2] - truth) <= found.error[2] for found in results)
    assert 88 <= covered <= 100, "95 of 100 are expected; the sizes are skewed"


def test_partial_results_come_with_their_error() -> None:
    graph = datasets.load("rmat", num_nodes=3000, num_edges=9000)
    results = list(iter_seed_sizes(graph, num_seeds=200, depth=2, num_threads=1))
    counts = [len(found.sizes) for found in results]
    assert counts[0] < 64
    assert counts[-1] == 200
    assert all(found.error[2] > 0 for found in results)
    assert results[-1].error[2] < results[0].error[2]


def test_nothing_is_measured_after_the_listener_left(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = explosion_sizes.reach_words

    def counted(*arguments: object) -> None:
        calls.append(1)
        real(*arguments)

    monkeypatch.setattr(explosion_sizes, "reach_words", counted)
    graph = datasets.load("karate")
    results = iter_seed_sizes(graph, np.arange(34), depth=1, num_threads=1, cancelled=lambda: len(calls) >= 1)
    assert len(list(results)) == 1
    assert len(calls) == 1
    cancelled = list(iter_seed_sizes(graph, num_seeds=9, cancelled=lambda: True))
    assert [len(found.sizes) for found in cancelled] == [0]


def test_errors_of_means_by_hand() -> None:
    rows = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(mean_error(rows), [12.706, 0], rtol=1e-4)
    np.testing.assert_allclose(mean_error(rows, 4), [12.706 / 2**0.5, 0], rtol=1e-4)
    assert mean_error(rows, 2).tolist() == [0, 0]
    assert np.isinf(mean_error(rows[:1])).all()
    assert mean_error(rows[:1], 1).tolist() == [0, 0]
    assert Spread.of(rows[:1], is_exact=True).error.tolist() == [0, 0]
