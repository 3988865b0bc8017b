"""What every sampler must do: one suite over the registry and over graphs with every difficulty."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.sampling import SAMPLERS, SampledSubgraph, sample
from workbench.sampling.scratch import Scratch
from workbench.testing import graphs
from workbench.testing.sampler_cases import CASES, cases, sampler_of, with_columns
from workbench.testing.samplers import check_subgraph

TAKERS, DRAWERS = cases(draws_seeds=False), cases(draws_seeds=True)
FIELDS = (
    *("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop"),
    *("edge_weight", "node_weight", "batch"),
)


def same(one: SampledSubgraph, other: SampledSubgraph) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in FIELDS]
    return all(np.array_equal(a, b) if a is not None and b is not None else a is b for a, b in pairs)


def draw(graph: Graph, seeds: object, case: str, **key: int) -> SampledSubgraph:
    return sample(graph, seeds, sampler_of(case), **key)


def test_the_cases_have_every_registered_sampler() -> None:
    assert {name for name, _ in CASES.values()} == set(SAMPLERS.names())


@pytest.mark.parametrize("case", CASES)
def test_holds_on_every_kind_of_graph(case: str) -> None:
    for make in graphs.NAMED.values():
        graph = with_columns(make())
        for seeds in (np.arange(graph.num_nodes), np.arange(graph.num_nodes)[::-3], np.arange(0)):
            for batch in range(3):
                check_subgraph(graph, draw(graph, seeds, case, batch=batch), seeds, sampler_of(case))


@st.composite
def topologies(draw: st.DrawFn) -> Graph:
    """Return any graph: self-loops, parallel edges, isolated nodes, hubs, ids of 32 or 64 bits."""
    num_nodes, num_edges = draw(st.integers(1, 40)), draw(st.integers(0, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = rng.integers(0, num_nodes, (2, num_edges))
    if draw(st.booleans()):
        edges[1] = np.minimum(edges[1], draw(st.integers(0, 3)))  # a few nodes get nearly all in-edges
    graph = with_columns(Graph.from_edge_index(edges, num_nodes))
    indices = graph.indices.astype(draw(st.sampled_from([np.int32, np.int64])))
    return Graph(indptr=graph.indptr, indices=indices, node_data=graph.node_data, edge_data=graph.edge_data)


@settings(max_examples=25)
@pytest.mark.parametrize("case", CASES)
@given(graph=topologies(), key=st.tuples(*[st.integers(0, 2**40)] * 3), step=st.integers(1, 5))
def test_holds_on_any_graph_and_is_a_function_of_its_key(
    case: str, graph: Graph, key: tuple[int, int, int], step: int
) -> None:
    seeds, (rng_seed, epoch, batch) = np.arange(graph.num_nodes)[::step], key
    first = draw(graph, seeds, case, rng_seed=rng_seed, epoch=epoch, batch=batch % 6)
    check_subgraph(graph, first, seeds, sampler_of(case))
    assert same(first, draw(graph, seeds, case, rng_seed=rng_seed, epoch=epoch, batch=batch % 6))


@pytest.mark.parametrize("case", TAKERS)
def test_isolated_seeds_are_a_batch_without_edges(case: str) -> None:
    subgraph = draw(with_columns(graphs.isolated_nodes()), [0, 7, 4], case)
    assert subgraph.node_ids.tolist() == [0, 7, 4]
    assert subgraph.num_edges == 0


@pytest.mark.parametrize("case", TAKERS)
def test_all_nodes_as_seeds_give_all_nodes(case: str) -> None:
    subgraph = draw(with_columns(graphs.random(500, 700)), np.arange(500), case)
    assert len(np.unique(subgraph.node_ids)) == 500
    assert subgraph.num_nodes == 500 or subgraph.batch is not None


@pytest.mark.parametrize("case", TAKERS)
def test_no_seed_is_an_empty_batch(case: str) -> None:
    subgraph = draw(with_columns(graphs.karate()), [], case)
    assert (subgraph.num_seeds, subgraph.num_nodes, subgraph.num_edges) == (0, 0, 0)
    assert subgraph.edge_index.shape == (2, 0)


@pytest.mark.parametrize("case", CASES)
def test_equal_keys_give_equal_samples_whatever_happened_between(case: str) -> None:
    graph, seeds = with_columns(graphs.random(2000, 20_000)), np.arange(0, 2000, 7)
    first = draw(graph, seeds, case, epoch=3, batch=5, rng_seed=9)
    for batch in range(10):
        draw(graph, seeds[::-1].copy(), case, batch=batch)
        assert same(first, draw(graph, seeds, case, epoch=3, batch=5, rng_seed=9))


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("full", "last")])
@pytest.mark.parametrize("other", [{"epoch": 4}, {"batch": 4}, {"rng_seed": 4}], ids=str)
def test_other_keys_give_other_samples(case: str, other: dict[str, int]) -> None:
    graph, seeds = with_columns(graphs.random(2000, 20_000)), np.arange(0, 2000, 7)
    assert not same(draw(graph, seeds, case), draw(graph, seeds, case, **other))


@pytest.mark.parametrize("case", CASES)
def test_threads_do_not_change_samples(case: str) -> None:
    graph, seeds = with_columns(graphs.random(2000, 20_000)), np.arange(0, 2000, 7)
    alone = [draw(graph, seeds, case, batch=batch) for batch in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: draw(graph, seeds, case, batch=batch), range(12)))
    assert all(map(same, alone, together))


@pytest.mark.parametrize("case", CASES)
def test_the_scratch_of_a_thread_changes_nothing_and_takes_at_most_16_bytes_a_node(case: str) -> None:
    graph, seeds, scratch = with_columns(graphs.random(2000, 20_000)), np.arange(0, 2000, 7), Scratch(2000)
    for batch in range(4):
        own = sampler_of(case).sample(graph, seeds, epoch=0, batch=batch, rng_seed=0, scratch=scratch)
        assert same(own, draw(graph, seeds, case, batch=batch))
    assert scratch.nbytes <= 16 * graph.num_nodes


@pytest.mark.parametrize("case", CASES)
def test_a_repeated_seed_is_an_error_that_says_which_or_a_second_tree(case: str) -> None:
    graph = with_columns(graphs.karate())
    has_trees = sampler_of(case).has_trees
    assert (draw(graph, [0], case).batch is not None) == has_trees
    if not has_trees:
        with pytest.raises(InputError, match=r"node 3 again at position 2.*numpy\.unique"):
            draw(graph, [3, 1, 3], case)
    else:
        assert draw(graph, [3, 1, 3], case).node_ids[:3].tolist() == [3, 1, 3]


@pytest.mark.parametrize("case", CASES)
def test_is_described_for_forms_and_configurations(case: str) -> None:
    sampler = sampler_of(case)
    assert SAMPLERS.from_dict(SAMPLERS.to_dict(sampler)) == sampler
    assert all(info.help for info in sampler.describe())
    assert SAMPLERS.entry(CASES[case][0]).summary.endswith(".")


@pytest.mark.parametrize("case", CASES)
def test_a_graph_of_64_bit_ids_samples_the_same(case: str) -> None:
    graph = with_columns(graphs.random(300, 900))
    indices = graph.indices.astype(np.int64)
    wide = Graph(indptr=graph.indptr, indices=indices, node_data=graph.node_data, edge_data=graph.edge_data)
    assert graph.indices.dtype == np.int32
    assert same(draw(graph, np.arange(30), case), draw(wide, np.arange(30), case))


@pytest.mark.parametrize("case", [case for case in CASES if "replacement" not in case])
def test_an_edge_of_a_multigraph_comes_at_most_once(case: str) -> None:
    """Once in each tree; of an edge both ways, once in each direction."""
    pairs = np.random.default_rng(0).integers(0, 12, (2, 400))
    graph, seeds = with_columns(Graph.from_edge_index(pairs, 12)), np.arange(6)
    subgraph = draw(graph, seeds, case)
    trees = np.zeros(subgraph.num_nodes, np.int64) if subgraph.batch is None else subgraph.batch
    entries = np.stack([trees[subgraph.edge_index[0]], subgraph.edge_ids, subgraph.edge_index[0]])
    assert np.unique(entries, axis=1).shape[1] == subgraph.num_edges > 0


@pytest.mark.parametrize("case", DRAWERS)
def test_what_draws_its_seeds_has_the_same_subgraph_for_any_of_them(case: str) -> None:
    graph = with_columns(graphs.random(300, 900))
    everyone, few = draw(graph, np.arange(300), case), draw(graph, [5, 17, 200, 201, 202], case)
    assert set(everyone.node_ids.tolist()) == set(few.node_ids.tolist())
    assert set(few.seed_nodes.tolist()) <= {5, 17, 200, 201, 202}
    assert everyone.num_seeds == everyone.num_nodes
    assert sampler_of(case).num_batches(graph) > 1
    assert not sampler_of(case).is_by_hop


def test_what_takes_its_seeds_leaves_the_number_of_batches_to_them() -> None:
    with pytest.raises(NotImplementedError, match="takes the seeds"):
        sampler_of("neighbor").num_batches(graphs.karate())


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
@pytest.mark.parametrize("name", ["neighbor", "labor"])
def test_wrong_fanouts_are_named(name: str, fanouts: object) -> None:
    with pytest.raises(InputError, match="fanouts"):
        sample(graphs.karate(), [0], name, fanouts=fanouts)


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(InputError, match="fan_outs"):
        sample(graphs.karate(), [0], fan_outs=(3,))
