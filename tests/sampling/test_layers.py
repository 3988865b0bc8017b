"""LABOR and layer-wise sampling: fewer nodes, unbiased sums, and the probabilities that they say."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from workbench.core.rng import GOLDEN, key64, mix64
from workbench.graph import Graph
from workbench.sampling import SampledSubgraph, sample
from workbench.sampling.base import SAMPLERS
from workbench.sampling.scratch import Scratch
from workbench.testing import graphs
from workbench.testing.samplers import reference_sample

ACCEPT, REJECT = 1e-3, 1e-6  # the keys are fixed: a test that passes once passes always


def means_of(graph: Graph, subgraph: SampledSubgraph, values: NDArray[Any]) -> NDArray[Any]:
    """Return for each seed the weighted sum of its sources' values over its degree."""
    source, destination = subgraph.edge_index
    num_seeds = subgraph.num_seeds
    first = destination < num_seeds
    weight = np.ones(subgraph.num_edges) if subgraph.edge_weight is None else subgraph.edge_weight
    sums = np.bincount(
        destination[first], (values[subgraph.node_ids[source]] * weight)[first], minlength=num_seeds
    )  # fmt: skip
    return sums / np.diff(graph.indptr)[subgraph.seed_nodes]


@pytest.mark.parametrize("fanouts", [(3,), (2, 4), (-1, 2)], ids=str)
def test_labor_equals_the_slow_reference(fanouts: tuple[int, ...]) -> None:
    graph, seeds = graphs.random(200, 2000), np.arange(0, 200, 9)

    def draw(hop: int, node: int, tree: int) -> list[int]:
        low, high = int(graph.indptr[node]), int(graph.indptr[node + 1])
        share = 1.0 if fanouts[hop - 1] < 0 else min(1.0, fanouts[hop - 1] / max(high - low, 1))
        numbers = [mix64(key64(5, 1, 2, hop) + GOLDEN + int(graph.indices[edge])) for edge in range(low, high)]
        return [low + j for j, bits in enumerate(numbers) if ((bits >> 11) + 1) / 2.0**53 <= share]

    found = sample(graph, seeds, "labor", fanouts=fanouts, rng_seed=5, epoch=1, batch=2)
    wanted = reference_sample(graph, seeds, len(fanouts), draw)
    for name in ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    degrees = np.diff(graph.indptr)[found.node_ids[found.edge_index[1]]]
    hops = np.repeat(fanouts, found.num_edges_per_hop)
    assert found.edge_weight == pytest.approx(np.where(hops < 0, 1.0, np.maximum(degrees / hops, 1.0)))


def labor_counts(degree: int, fanout: int, num_nodes: int = 40_000) -> NDArray[np.int64]:
    """Return how often each of a node's in-edges was taken: every node has sources of its own."""
    indices = np.arange(num_nodes * degree, dtype=np.int64)
    indptr = np.concatenate([np.arange(num_nodes + 1) * degree, np.full(len(indices) - num_nodes, len(indices))])
    graph = Graph(indptr=indptr, indices=indices.astype(np.int32))
    taken = sample(graph, np.arange(num_nodes), "labor", fanouts=(fanout,)).edge_ids
    return np.bincount(taken % degree, minlength=degree)


def p_of_shares(counts: NDArray[Any], share: float, num_nodes: int = 40_000) -> float:
    spread = num_nodes * share * (1 - share)
    return float(stats.chi2.sf(((counts - num_nodes * share) ** 2).sum() / spread, len(counts)))


def test_labor_takes_each_edge_with_the_probability_of_its_fanout() -> None:
    counts = labor_counts(12, 5)
    assert p_of_shares(counts, 5 / 12) > ACCEPT
    assert p_of_shares(counts, 1.05 * 5 / 12) < REJECT


def test_labor_takes_as_many_edges_as_neighbour_sampling_in_expectation_only() -> None:
    graph, seeds = graphs.random(500, 20_000), np.arange(40)
    exact = np.minimum(np.diff(graph.indptr)[seeds], 7).sum()
    counts = np.array([sample(graph, seeds, "labor", fanouts=(7,), batch=batch).num_edges for batch in range(600)])
    assert counts.std() > 0
    assert abs(counts.mean() - exact) < 4 * counts.std() / np.sqrt(len(counts))


def test_labor_has_fewer_nodes_at_the_same_variance() -> None:
    """Means over neighbours vary as much as with neighbour sampling, from clearly fewer nodes."""
    pairs = np.unique(np.random.default_rng(1).integers(0, 400, (32_000, 2)), axis=0).T  # parallel edges go together
    graph, seeds = Graph.from_edge_index(pairs, 400), np.arange(200)
    values = np.random.default_rng(0).normal(size=400)
    spread, nodes, bias = {}, {}, {}
    exact = means_of(graph, sample(graph, seeds, "full", num_hops=1), values)
    for name in ("neighbor", "labor"):
        drawn = [sample(graph, seeds, name, fanouts=(8,), batch=batch) for batch in range(400)]
        errors = np.array([means_of(graph, subgraph, values) for subgraph in drawn])
        if name == "neighbor":
            errors *= np.diff(graph.indptr)[seeds] / 8  # plain means of the eight
        errors -= exact
        spread[name], bias[name] = (errors**2).mean(), np.abs(errors.mean(axis=0)).max()
        nodes[name] = np.mean([subgraph.num_nodes for subgraph in drawn])
    assert spread["labor"] == pytest.approx(spread["neighbor"], rel=0.15)
    assert bias["labor"] < 5 * np.sqrt(spread["labor"] / 400)
    assert nodes["labor"] < 0.85 * nodes["neighbor"]


def test_sharing_numbers_between_hops_has_fewer_nodes_still() -> None:
    graph, seeds = graphs.random(3000, 60_000), np.arange(100)
    counts = {
        shared: np.mean(
            [
                sample(graph, seeds, "labor", fanouts=(5, 5), shared_hops=shared, batch=batch).num_nodes
                for batch in range(40)
            ]
        )
        for shared in (False, True)
    }
    assert counts[True] < 0.97 * counts[False]


@pytest.mark.parametrize("importance", ["ladies", "fastgcn"])
def test_layer_wise_sums_are_unbiased(importance: str) -> None:
    graph, seeds = graphs.karate(), np.array([0, 5, 16, 33])
    values = np.random.default_rng(0).uniform(1, 2, 34)
    exact = means_of(graph, sample(graph, seeds, "full", num_hops=1), values)
    params = {"layer_sizes": (40,), "importance": importance}
    means = np.array(
        [means_of(graph, sample(graph, seeds, "layer_wise", batch=batch, **params), values) for batch in range(6000)]
    )
    error = means.std(axis=0) / np.sqrt(len(means))
    assert (np.abs(means.mean(axis=0) - exact) / error).max() < 4.5
    assert (np.abs(1.05 * means.mean(axis=0) - exact) / error).max() > 4.5, "5% would be noticed"


@pytest.mark.parametrize("importance", ["ladies", "fastgcn"])
def test_layers_draw_by_the_squared_column_norms(importance: str) -> None:
    graph, seeds, num_batches = graphs.karate(), np.arange(0, 34, 5), 3000
    source, destination = graph.edge_index()
    kept = np.isin(destination, seeds) if importance == "ladies" else np.ones(len(source), bool)
    norms = np.bincount(source[kept], 1.0 / np.diff(graph.indptr)[destination[kept]] ** 2, minlength=34)
    counts = np.zeros(34)
    for batch in range(num_batches):
        subgraph = sample(graph, seeds, "layer_wise", layer_sizes=(1,), importance=importance, batch=batch)
        counts[np.unique(subgraph.node_ids[subgraph.edge_index[0]])] += 1
    reached = np.unique(source[np.isin(destination, seeds)])
    assert set(np.flatnonzero(counts)) <= set(reached)
    wanted = norms / norms.sum()
    missed = num_batches - counts.sum()  # FastGCN draws nodes that no seed reads
    cells = np.append(counts[reached], missed)
    expected = np.append(wanted[reached], 1 - wanted[reached].sum()) * num_batches
    big = expected > 5
    assert stats.chisquare(cells[big], expected[big] * cells[big].sum() / expected[big].sum()).pvalue > ACCEPT
    wrong = np.sqrt(expected[big])  # by the norm, not by its square
    assert stats.chisquare(cells[big], wrong * cells[big].sum() / wrong.sum()).pvalue < REJECT


def test_layers_take_no_memory_for_the_candidates_that_they_leave() -> None:
    num_nodes = 300_000  # all of them candidates: each has an edge to the seed
    graph = Graph.from_edge_index(np.stack([np.arange(1, num_nodes), np.zeros(num_nodes - 1, np.int64)]), num_nodes)
    scratch = Scratch(num_nodes)
    sampler = SAMPLERS.create("layer_wise", layer_sizes=(100,))
    draw = partial(sampler.sample, graph, np.array([0]), epoch=0, rng_seed=0, scratch=scratch)
    assert draw(batch=0).num_edges > 90
    tracemalloc.start()
    try:
        draw(batch=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert scratch.nbytes == 16 * num_nodes
    assert peak < num_nodes / 4


def test_a_batch_of_layers_grows_with_the_number_of_hops() -> None:
    graph = graphs.random(5000, 100_000)
    subgraph = sample(graph, np.arange(50), "layer_wise", layer_sizes=(100, 100, 100))
    assert (subgraph.num_nodes_per_hop <= [50, 100, 100, 100]).all()
    assert subgraph.num_nodes <= 350 < sample(graph, np.arange(50), "full", num_hops=3).num_nodes
