"""Whether draws are uniform and independent: chi-square tests that a deviation of 5% in the probabilities fails."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from workbench.graph import Graph
from workbench.sampling import sample
from workbench.testing import graphs

NUM_NODES = 60_000
ACCEPT, REJECT = 1e-3, 1e-6  # the keys are fixed: a test that passes once passes always


def regular(degree: int, num_nodes: int = NUM_NODES) -> Graph:
    """Every node has `degree` in-edges; sources do not matter here."""
    indices = np.arange(num_nodes * degree, dtype=np.int32) % num_nodes
    return Graph(indptr=np.arange(num_nodes + 1) * degree, indices=indices)


def positions(degree: int, fanout: int, *, replace: bool = False, **key: int) -> NDArray[np.int64]:
    """Return which of its in-edges each node drew, (NUM_NODES, fanout)."""
    graph = regular(degree)
    subgraph = sample(graph, np.arange(NUM_NODES), fanouts=(fanout,), replace=replace, **key)
    return (subgraph.edge_ids % degree).reshape(NUM_NODES, fanout)


def p_of_sets(sets: NDArray[np.int64], degree: int) -> float:
    """Return the p-value of "every set of this size is equally likely"."""
    cells = {cell: position for position, cell in enumerate(combinations(range(degree), sets.shape[1]))}
    counts = np.bincount([cells[tuple(row)] for row in np.sort(sets, axis=1).tolist()], minlength=len(cells))
    return float(stats.chisquare(counts).pvalue)


def p_of_inclusion(sets: NDArray[np.int64], degree: int) -> float:
    """Return the p-value of "every edge is in a set with probability fanout / degree".

    Counts of sets without repetition are correlated by -1 / (degree - 1), which shrinks the statistic.
    """
    counts = np.bincount(sets.reshape(-1), minlength=degree)
    share = sets.shape[1] / degree
    spread = len(sets) * share * (1 - share)
    statistic = ((counts - len(sets) * share) ** 2).sum() / spread * (degree - 1) / degree
    return float(stats.chi2.sf(statistic, degree - 1))


def perturbed(degree: int, fanout: int, excess: float = 1.05) -> NDArray[np.int64]:
    """Return sets drawn by a sampler that is wrong: edge 0 is 5% too likely."""
    weights = np.ones(degree)
    weights[0] = excess
    rng = np.random.default_rng(1)
    order = np.argsort(rng.exponential(size=(NUM_NODES, degree)) / weights, axis=1)
    return order[:, :fanout]


@pytest.mark.parametrize(("degree", "fanout"), [(2, 1), (5, 2), (6, 3), (9, 8)])
def test_every_set_of_edges_is_equally_likely(degree: int, fanout: int) -> None:
    assert p_of_sets(positions(degree, fanout), degree) > ACCEPT


@pytest.mark.parametrize(
    ("degree", "fanout"), [(30, 10), (100, 15), (40, 35), (200, 60)], ids=["some", "few", "most", "one by one"]
)
def test_every_edge_is_equally_likely(degree: int, fanout: int) -> None:
    drawn = positions(degree, fanout)
    assert all(len(set(row)) == fanout for row in drawn[:1000].tolist())
    assert p_of_inclusion(drawn, degree) > ACCEPT


def test_draws_with_replacement_are_uniform_and_independent() -> None:
    pairs = positions(7, 2, replace=True)
    assert stats.chisquare(np.bincount(pairs[:, 0] * 7 + pairs[:, 1], minlength=49)).pvalue > ACCEPT


def test_the_tests_notice_a_deviation_of_5_percent() -> None:
    assert p_of_sets(perturbed(6, 3), 6) < REJECT
    assert p_of_inclusion(perturbed(6, 3), 6) < REJECT
    assert p_of_sets(perturbed(6, 3, excess=1.0), 6) > ACCEPT
    assert p_of_inclusion(perturbed(30, 10, excess=1.0), 30) > ACCEPT


@pytest.mark.parametrize("other", [{"epoch": 1}, {"batch": 1}, {"rng_seed": 1}], ids=str)
def test_draws_under_different_keys_are_independent(other: dict[str, int]) -> None:
    joint = positions(6, 1)[:, 0] * 6 + positions(6, 1, **other)[:, 0]
    assert stats.chisquare(np.bincount(joint, minlength=36)).pvalue > ACCEPT


def test_draws_of_neighbouring_ids_are_independent() -> None:
    drawn = positions(6, 1)[:, 0]
    assert stats.chisquare(np.bincount(drawn[:-1] * 6 + drawn[1:], minlength=36)).pvalue > ACCEPT


def test_unique_nodes_of_one_hop_have_the_expected_number() -> None:
    """E[unique] = sum over v of 1 - product over seeds u that v points to of (1 - min(1, f / d_u))."""
    edges = np.unique(np.random.default_rng(2).integers(0, 400, (6000, 2)), axis=0).T
    graph, seeds, fanout = Graph.from_edge_index(edges, 400), np.arange(60), 5
    missed = np.ones(400)
    for seed in seeds:
        sources = graph.indices[graph.indptr[seed] : graph.indptr[seed + 1]]
        missed[sources] *= 1 - min(1, fanout / len(sources))
    counts = np.array([sources_of(graph, seeds, fanout, batch) for batch in range(2000)])
    error = counts.std() / np.sqrt(len(counts))
    assert error < 0.002 * counts.mean()
    assert abs(counts.mean() - (1 - missed).sum()) < 4 * error


def sources_of(graph: Graph, seeds: NDArray[np.int64], fanout: int, batch: int) -> int:
    return len(np.unique(sample(graph, seeds, fanouts=(fanout,), batch=batch).edge_index[0]))


def test_reach_probabilities_rank_the_nodes_of_two_hops() -> None:
    """p_v = 1 - product over u of (1 - min(1, f / d_u) p_u), hop after hop; approximate, so ranks are compared."""
    graph, seeds, fanouts = graphs.karate(), np.array([4, 16, 26]), (2, 2)
    source, destination = graph.edge_index()
    share = np.minimum(1, fanouts[0] / np.diff(graph.indptr))
    reach, either = np.isin(np.arange(34), seeds).astype(float), np.zeros(34)
    for _ in fanouts:
        missed = np.ones(34)
        np.multiply.at(missed, source, 1 - share[destination] * reach[destination])
        reach = 1 - missed
        either = 1 - (1 - either) * (1 - reach)
    drawn = [sample(graph, seeds, fanouts=fanouts, batch=batch).node_ids for batch in range(3000)]
    others = np.setdiff1d(np.arange(34), seeds)
    frequency = np.bincount(np.concatenate(drawn), minlength=34)
    assert stats.spearmanr(either[others], frequency[others]).statistic > 0.9


def weighted(weights: list[float]) -> Graph:
    """Every node has in-edges of these weights."""
    graph = regular(len(weights))
    return graph.with_data(edge_data={"weight": np.tile(np.array(weights, np.float32), NUM_NODES)})


def drawn_by_weight(weights: list[float], fanout: int, *, replace: bool) -> NDArray[np.int64]:
    """Return which of its in-edges each node drew, (NUM_NODES, fanout)."""
    options = {"fanouts": (fanout,), "replace": replace, "weight_attr": "weight"}
    subgraph = sample(weighted(weights), np.arange(NUM_NODES), **options)
    return (subgraph.edge_ids % len(weights)).reshape(NUM_NODES, fanout)


@pytest.mark.parametrize("replace", [False, True])
def test_weights_0_1_2_3_are_drawn_0_1_2_3_times_as_often(replace: bool) -> None:
    counts = np.bincount(drawn_by_weight([0, 1, 2, 3], 1, replace=replace).reshape(-1), minlength=4)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:], NUM_NODES * np.array([1, 2, 3]) / 6).pvalue > ACCEPT
    wrong = np.array([1, 2, 1.05 * 3])
    assert stats.chisquare(counts[1:], NUM_NODES * wrong / wrong.sum()).pvalue < REJECT


def test_weighted_draws_with_replacement_are_independent() -> None:
    pairs = drawn_by_weight([1, 2, 5], 2, replace=True)
    chances = np.array([1, 2, 5]) / 8
    counts = np.bincount(pairs[:, 0] * 3 + pairs[:, 1], minlength=9)
    assert stats.chisquare(counts, NUM_NODES * np.outer(chances, chances).reshape(-1)).pvalue > ACCEPT
    wrong = chances * [1.0, 1.0, 1.05]
    wrong = np.outer(wrong, wrong).reshape(-1)
    assert stats.chisquare(counts, NUM_NODES * wrong / wrong.sum()).pvalue < REJECT


def test_weighted_sets_are_those_of_one_draw_after_another() -> None:
    """P({a, b}) = p_a p_b / (1 - p_a) + p_b p_a / (1 - p_b)."""
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    chances = weights / weights.sum()
    sets = list(combinations(range(4), 2))
    drawn = np.sort(drawn_by_weight(weights.tolist(), 2, replace=False), axis=1)
    counts = [int(((drawn == pair).all(axis=1)).sum()) for pair in sets]
    wanted = [
        chances[a] * chances[b] * (1 / (1 - chances[a]) + 1 / (1 - chances[b])) * NUM_NODES for a, b in sets
    ]  # fmt: skip
    assert stats.chisquare(counts, wanted).pvalue > ACCEPT
    wrong = np.array(wanted) * [1.05, 0.95, 1.05, 0.95, 1.05, 0.95]
    assert stats.chisquare(counts, wrong * NUM_NODES / wrong.sum()).pvalue < REJECT


def test_draws_up_to_a_time_are_uniform_among_the_edges_up_to_it() -> None:
    graph = regular(6).with_data(edge_data={"time": np.tile([1, 9, 2, 3, 9, 4], NUM_NODES)})
    times = np.full(NUM_NODES, 5)
    subgraph = sample(graph, np.arange(NUM_NODES), fanouts=(1,), time_attr="time", seed_times=times)
    counts = np.bincount(subgraph.edge_ids % 6, minlength=6)
    assert counts[1] == counts[4] == 0
    assert stats.chisquare(counts[[0, 2, 3, 5]]).pvalue > ACCEPT


def test_trees_of_one_batch_draw_independently() -> None:
    """Two seeds that read the same node draw from it apart: its tree is part of the key."""
    graph = Graph.from_edge_index([[2, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 2, 2, 2, 2, 2]], 9)
    joint = np.zeros((9, 9))
    for batch in range(4000):
        subgraph = sample(graph, [0, 1], fanouts=(1, 1), disjoint=True, batch=batch)
        joint[tuple(subgraph.node_ids[-2:])] += 1
    assert stats.chisquare(joint[3:, 3:].reshape(-1)).pvalue > ACCEPT


def test_a_cache_hits_in_proportion_to_its_size_or_better_by_what_it_knows() -> None:
    """Random nodes: the share that is kept. Reach in one hop ranks better, and nothing beats what was in fact read."""
    graph, seeds = graphs.random(2000, 12_000), np.arange(0, 2000, 10)
    train, test = (
        np.bincount(
            np.concatenate([sample(graph, seeds, fanouts=(3, 3), batch=batch).node_ids for batch in batches]),
            minlength=2000,
        )
        for batches in (range(100), range(100, 200))
    )
    kept = 300

    def hit_ratio(nodes: NDArray[np.int64]) -> float:
        return float(test[nodes].sum() / test.sum())

    rng = np.random.default_rng(0)
    random = [hit_ratio(rng.permutation(2000)[:kept]) for _ in range(400)]
    assert abs(np.mean(random) - kept / 2000) < 4 * np.std(random) / 20
    known, optimum = hit_ratio(np.argsort(-train)[:kept]), hit_ratio(np.argsort(-test)[:kept])
    assert np.mean(random) + 10 * np.std(random) < known <= optimum
