"""What every sampler must do: one suite over the registry and over graphs with every difficulty."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.sampling import SAMPLERS, SampledSubgraph, sample
from workbench.testing import graphs
from workbench.testing.samplers import check_subgraph

SAMPLER_NAMES = SAMPLERS.names()


def same(one: SampledSubgraph, other: SampledSubgraph) -> bool:
    fields = ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


@pytest.mark.parametrize("graph_name", graphs.NAMED)
@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_holds_on_every_kind_of_graph(name: str, graph_name: str) -> None:
    graph = graphs.NAMED[graph_name]()
    for seeds in (np.arange(graph.num_nodes), np.arange(graph.num_nodes)[::-3], np.arange(0)):
        for batch in range(3):
            check_subgraph(graph, sample(graph, seeds, name, batch=batch), seeds)


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_isolated_seeds_are_a_batch_without_edges(name: str) -> None:
    subgraph = sample(graphs.isolated_nodes(), [0, 7, 4], name)
    assert subgraph.node_ids.tolist() == [0, 7, 4]
    assert subgraph.num_edges == 0


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_all_nodes_as_seeds_give_all_nodes(name: str) -> None:
    graph = graphs.random(500, 700)
    assert sample(graph, np.arange(500), name).num_nodes == 500


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_no_seed_is_an_empty_batch(name: str) -> None:
    subgraph = sample(graphs.karate(), [], name)
    assert (subgraph.num_seeds, subgraph.num_nodes, subgraph.num_edges) == (0, 0, 0)
    assert subgraph.edge_index.shape == (2, 0)


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_equal_keys_give_equal_samples_whatever_happened_between(name: str) -> None:
    graph, seeds = graphs.random(2000, 20_000), np.arange(0, 2000, 7)
    first = sample(graph, seeds, name, epoch=3, batch=5, rng_seed=9)
    for batch in range(10):
        sample(graph, seeds[::-1].copy(), name, batch=batch)
        assert same(first, sample(graph, seeds, name, epoch=3, batch=5, rng_seed=9))


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_threads_do_not_change_samples(name: str) -> None:
    graph, seeds = graphs.random(2000, 20_000), np.arange(0, 2000, 7)
    alone = [sample(graph, seeds, name, batch=batch) for batch in range(24)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: sample(graph, seeds, name, batch=batch), range(24)))
    assert all(map(same, alone, together))


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_a_repeated_seed_is_an_error_that_says_which(name: str) -> None:
    with pytest.raises(InputError, match=r"node 3 again at position 2.*numpy\.unique"):
        sample(graphs.karate(), [3, 1, 3], name)
    check_subgraph(graphs.karate(), sample(graphs.karate(), [3, 1], name), np.array([3, 1]))


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_is_described_for_forms_and_configurations(name: str) -> None:
    sampler = SAMPLERS.create(name)
    assert SAMPLERS.from_dict(SAMPLERS.to_dict(sampler)) == sampler
    assert all(info.help for info in sampler.describe())
    assert SAMPLERS.entry(name).summary.endswith(".")


def test_full_takes_every_edge_within_its_hops() -> None:
    graph = graphs.path(6)
    subgraph = sample(graph, [0], "full", num_hops=3)
    assert subgraph.node_ids.tolist() == [0, 1, 2, 3]
    assert subgraph.num_edges_per_hop.tolist() == [1, 2, 2]
    everything = sample(graph, np.arange(6), "full", num_hops=1)
    assert sorted(everything.edge_ids.tolist()) == list(range(graph.num_edges))


def test_full_is_neighbour_sampling_without_a_bound() -> None:
    graph, seeds = graphs.random(300, 800), np.arange(0, 300, 50)
    full = sample(graph, seeds, "full", num_hops=2)
    for fanouts in ((-1, -1), (graph.num_edges, graph.num_edges)):
        assert same(full, sample(graph, seeds, fanouts=fanouts, rng_seed=5))


def test_the_text_of_a_subgraph_says_its_size() -> None:
    text = repr(sample(graphs.star(12), [0], fanouts=(5,)))
    assert text == "SampledSubgraph(6 nodes = 1 + 5 by hop, 5 edges)"


@pytest.mark.parametrize(
    "fanouts", [(), (5, -2), (1.5,), 10], ids=["none", "below minus one", "half an edge", "no sequence"]
)
def test_wrong_fanouts_are_named(fanouts: object) -> None:
    with pytest.raises(InputError, match="fanouts"):
        sample(graphs.karate(), [0], fanouts=fanouts)


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(InputError, match="fan_outs"):
        sample(graphs.karate(), [0], fan_outs=(3,))


def test_a_graph_of_64_bit_ids_samples_the_same() -> None:
    graph = graphs.random(300, 900)
    wide = Graph(indptr=graph.indptr, indices=graph.indices.astype(np.int64))
    assert graph.indices.dtype == np.int32
    assert same(sample(graph, np.arange(30)), sample(wide, np.arange(30)))
