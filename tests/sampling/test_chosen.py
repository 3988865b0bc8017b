"""Neighbour sampling among chosen edges: by weight, up to a time, in trees, induced and both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from workbench.core.errors import InputError
from workbench.core.rng import GOLDEN, key64, mix64
from workbench.graph import Graph
from workbench.sampling import SampledSubgraph, sample
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.testing import graphs
from workbench.testing.sampler_cases import with_columns
from workbench.testing.samplers import draw_chosen, reference_sample

FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 2, 5, 40]), min_size=1, max_size=2).map(tuple)


@st.composite
def dated(draw: st.DrawFn) -> Graph:
    """Return a graph with weights, some of them 0, and times with many ties."""
    num_nodes, num_edges = draw(st.integers(1, 25)), draw(st.integers(0, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    weights = rng.integers(0, 4, num_edges)
    weights[graph.indptr[:-1][np.diff(graph.indptr) > 0]] = 1  # every node can draw
    kind = draw(st.sampled_from([np.int64, np.float64, np.int32]))
    return graph.with_data(
        edge_data={"weight": weights.astype(np.float32), "time": rng.integers(-5, 5, num_edges).astype(kind)},
        node_data={"time": rng.integers(-5, 5, num_nodes).astype(kind), "born": rng.integers(-5, 5, num_nodes)},
    )


def expected(graph: Graph, seeds: Any, sampler: NeighborSampler, key: tuple[int, int, int]) -> SampledSubgraph:
    """Sample with Python's lists, from the documented streams."""
    weights = None if sampler.weight_attr is None else graph.edge_data[sampler.weight_attr]
    times, seed_times = None, None
    if sampler.time_attr is not None:
        seed_times = graph.node_data[sampler.time_attr][seeds]
        by_edge = sampler.time_attr in graph.edge_data
        times = graph.edge_data["time"] if by_edge else graph.node_data[sampler.time_attr][graph.indices]

    def draw(hop: int, node: int, tree: int) -> list[int]:
        low, high = int(graph.indptr[node]), int(graph.indptr[node + 1])
        ids = [edge for edge in range(low, high) if times is None or times[edge] <= seed_times[tree]]
        ids = [edge for edge in ids if weights is None or weights[edge] > 0]
        path = (*key, hop, int(seeds[tree])) if sampler.has_trees else (*key, hop)
        return draw_chosen(
            ids,
            low,
            sampler.fanouts[hop - 1],
            replace=sampler.replace,
            state=mix64(key64(*path) + GOLDEN + node),
            weights=weights,
            times=times if sampler.temporal_strategy == "last" else None,
        )

    return reference_sample(graph, seeds, len(sampler.fanouts), draw, disjoint=sampler.has_trees)


FORMS: list[dict[str, Any]] = [
    {"weight_attr": "weight"},
    {"weight_attr": "weight", "replace": True},
    {"disjoint": True},
    {"disjoint": True, "replace": True},
    {"time_attr": "time"},
    {"time_attr": "born"},
    {"time_attr": "time", "replace": True},
    {"time_attr": "time", "temporal_strategy": "last"},
    {"time_attr": "born", "temporal_strategy": "last"},
]


@settings(max_examples=40)
@given(dated(), FANOUTS, st.sampled_from(FORMS), st.tuples(*[st.integers(0, 2**62)] * 3), st.data())
def test_equals_the_slow_reference(
    graph: Graph, fanouts: tuple[int, ...], form: dict[str, Any], key: tuple[int, int, int], data: st.DataObject
) -> None:
    nodes = st.lists(st.integers(0, graph.num_nodes - 1), max_size=6)
    sampler = NeighborSampler(fanouts=fanouts, **form)
    seeds = np.array(data.draw(nodes), np.int64)
    if not sampler.has_trees:
        seeds = np.unique(seeds)
    try:
        found = sample(graph, seeds, sampler, rng_seed=key[0], epoch=key[1], batch=key[2])
    except InputError as error:  # weights of the edges that are early enough may all be 0
        assert "weight" in str(error)  # noqa: PT017
        return
    wanted = expected(graph, seeds, sampler, key)
    for name in ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    if sampler.has_trees:
        assert np.array_equal(found.batch, wanted.batch)


def piece(subgraph: SampledSubgraph, tree: int) -> tuple[list[int], list[list[int]], list[int]]:
    """Return one tree of a batch with local ids of its own."""
    of_tree = np.flatnonzero(subgraph.batch == tree)
    own = np.full(subgraph.num_nodes, -1)
    own[of_tree] = np.arange(len(of_tree))
    inside = own[subgraph.edge_index[1]] >= 0
    edges = own[subgraph.edge_index[:, inside]]
    return subgraph.node_ids[of_tree].tolist(), edges.tolist(), subgraph.edge_ids[inside].tolist()


@pytest.mark.parametrize("more", [{}, {"time_attr": "time"}, {"subgraph_type": "induced"}, {"weight_attr": "weight"}])
def test_a_disjoint_batch_is_each_seed_alone_side_by_side(more: dict[str, Any]) -> None:
    graph, seeds = with_columns(graphs.random(200, 1500)), [3, 77, 78, 5, 199]
    sampler = NeighborSampler(fanouts=(4, 3), disjoint=True, **more)
    together = sample(graph, seeds, sampler, batch=7)
    for tree, seed in enumerate(seeds):
        alone = sample(graph, [seed], sampler, batch=7)
        assert piece(together, tree) == piece(alone, 0)
    assert sum(len(piece(together, tree)[2]) for tree in range(len(seeds))) == together.num_edges


@settings(max_examples=40)
@given(dated(), FANOUTS, st.sampled_from(["uniform", "last"]), st.booleans())
def test_no_edge_is_later_than_its_seed_at_any_hop(
    graph: Graph, fanouts: tuple[int, ...], strategy: str, by_edge: bool
) -> None:
    seeds, name = np.arange(graph.num_nodes), "time" if by_edge else "born"
    subgraph = sample(graph, seeds, fanouts=fanouts, time_attr=name, temporal_strategy=strategy)
    times = graph.edge_data["time"] if by_edge else graph.node_data["born"][graph.indices]
    of_seed = graph.node_data[name][subgraph.seed_nodes]
    trees = subgraph.batch[subgraph.edge_index[1]]
    assert (times[subgraph.edge_ids] <= of_seed[trees]).all()


def test_the_last_edges_are_those_next_before_the_seed() -> None:
    graph = Graph.from_edge_index([[1, 2, 3, 4, 5], [0, 0, 0, 0, 0]], 6, edge_data={"time": [10, 40, 20, 50, 30]})
    subgraph = sample(graph, [0], fanouts=(2,), time_attr="time", temporal_strategy="last", seed_times=[40])
    assert sorted(subgraph.node_ids[1:].tolist()) == [2, 5]


def test_each_seed_has_the_time_given_even_where_it_comes_twice() -> None:
    graph = Graph.from_edge_index([[1, 2, 3], [0, 0, 0]], 4, edge_data={"time": [1.5, 2.5, -3.5]})
    subgraph = sample(graph, [0, 0, 0], fanouts=(-1,), time_attr="time", seed_times=[2.0, 2.5, -4.0])
    assert [sorted(piece(subgraph, tree)[0][1:]) for tree in range(3)] == [[1, 3], [1, 2, 3], []]


def test_dates_are_times() -> None:
    days = np.array(["2024-01-01", "2024-01-03"], "datetime64[D]")
    graph = Graph.from_edge_index([[1, 2], [0, 0]], 3)
    graph = Graph(indptr=graph.indptr, indices=graph.indices, edge_data={"time": days})
    noon = np.array(["2024-01-02T12"], "datetime64[h]")
    assert sample(graph, [0], fanouts=(-1,), time_attr="time", seed_times=noon).node_ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("params", "seed_times", "said"),
    [
        ({"time_attr": "date"}, None, "'date'"),
        ({"time_attr": "age"}, None, "a time everywhere"),
        ({"time_attr": "only"}, None, "a time for each seed"),
        ({"time_attr": "time"}, [1, 2], r"shape \(1,\)"),
        ({"time_attr": "time"}, [np.nan], "a time everywhere"),
        ({}, [1], "time_attr"),
        ({"temporal_strategy": "last"}, None, "a column of times"),
        ({"time_attr": "time", "temporal_strategy": "last", "replace": True}, None, "nothing is drawn"),
        ({"time_attr": "time", "temporal_strategy": "last", "weight_attr": "weight"}, None, "nothing is drawn"),
    ],
)
def test_what_is_wrong_with_times_is_named(params: dict[str, Any], seed_times: Any, said: str) -> None:
    graph = with_columns(graphs.karate())
    graph = graph.with_data(node_data={"age": np.full(34, np.nan)}, edge_data={"only": np.zeros(graph.num_edges)})
    with pytest.raises(InputError, match=said):
        sample(graph, [0], seed_times=seed_times, **params)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros(156), "at least one positive"),
        (np.where(np.arange(156) == 9, -1.0, 1.0), "-1.0 at edge 9"),
        (np.where(np.arange(156) == 9, np.nan, 1.0), "nan at edge 9"),
        (np.where(np.arange(156) == 9, np.inf, 1.0), "inf at edge 9"),
        (np.where(np.arange(156) == 9, 1e-60, 1.0), "1e-60 at edge 9"),
        (np.ones((156, 2)), "one number an edge"),
    ],
    ids=["all zero", "negative", "NaN", "infinite", "too small", "two columns"],
)
def test_wrong_weights_are_errors(weights: Any, said: str) -> None:
    karate = graphs.karate()
    graph = Graph(indptr=karate.indptr, indices=karate.indices, edge_data={"weight": weights})
    with pytest.raises(InputError, match=said):
        sample(graph, [0], fanouts=(2,), weight_attr="weight")


def test_a_node_whose_edges_all_weigh_nothing_is_an_error_that_names_it() -> None:
    graph = graphs.karate()
    weights = np.ones(graph.num_edges)
    weights[graph.indptr[5] : graph.indptr[6]] = 0
    with pytest.raises(InputError, match="node 5"):
        sample(graph.with_data(edge_data={"weight": weights}), [0, 5], fanouts=(2,), weight_attr="weight")


def test_an_unknown_column_of_weights_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"weight.*'cost'"):
        sample(with_columns(graphs.karate()), [0], weight_attr="cost")


def test_edges_of_weight_0_are_never_taken_whatever_the_fanout() -> None:
    graph = graphs.clique(6)
    weights = (graph.indices % 2).astype(np.float32)
    for fanout in (-1, 1, 3, 9):
        subgraph = sample(graph.with_data(edge_data={"w": weights}), [0], fanouts=(fanout,), weight_attr="w")
        assert weights[subgraph.edge_ids].all()
        assert subgraph.num_edges == (3 if fanout < 0 else min(fanout, 3))


def test_induced_has_every_edge_among_its_nodes_once() -> None:
    graph, seeds = graphs.random(300, 3000), np.arange(0, 300, 30)
    drawn = sample(graph, seeds, fanouts=(4, 3))
    subgraph = sample(graph, seeds, fanouts=(4, 3), subgraph_type="induced")
    assert np.array_equal(subgraph.node_ids, drawn.node_ids)
    source, destination = graph.edge_index()
    inside = np.flatnonzero(np.isin(source, drawn.node_ids) & np.isin(destination, drawn.node_ids))
    assert sorted(subgraph.edge_ids.tolist()) == inside.tolist()
    assert set(drawn.edge_ids.tolist()) < set(subgraph.edge_ids.tolist())


def test_both_ways_adds_the_reverse_of_every_edge_once() -> None:
    graph, seeds = graphs.random(300, 3000), np.arange(0, 300, 30)
    drawn = sample(graph, seeds, fanouts=(4, 3))
    subgraph = sample(graph, seeds, fanouts=(4, 3), subgraph_type="bidirectional")
    pairs = {tuple(pair) for pair in drawn.edge_index.T.tolist()}
    both = {tuple(pair) for pair in subgraph.edge_index.T.tolist()}
    assert both == pairs | {(b, a) for a, b in pairs}
    assert subgraph.num_edges - drawn.num_edges == len(both - pairs)
    assert np.array_equal(subgraph.num_nodes_per_hop, drawn.num_nodes_per_hop)


def test_a_hub_in_a_tree_is_drawn_from_without_looking_at_its_edges() -> None:
    """Its draws are those of a node with as many edges: bit for bit the slow reference."""
    graph = Graph(indptr=np.array([0, 100_000, 100_000]), indices=np.ones(100_000, np.int32))
    found = sample(graph, [0], fanouts=(3,), disjoint=True, rng_seed=4)
    wanted = expected(graph, np.array([0]), NeighborSampler(fanouts=(3,), disjoint=True), (4, 0, 0))
    assert np.array_equal(found.edge_ids, wanted.edge_ids)


@pytest.mark.parametrize(("of_nodes", "of_edges"), [(np.float64, np.int64), (np.int64, np.float64)])
def test_seeds_own_times_compare_with_edges_of_another_type(of_nodes: Any, of_edges: Any) -> None:
    times = {
        "node_data": {"time": np.array([1, 0, 0, 0], of_nodes)},
        "edge_data": {"time": np.array([1, 5, 9], of_edges)},
    }
    graph = Graph.from_edge_index([[1, 2, 3], [0, 0, 0]], 4, **times)
    assert sample(graph, [0], fanouts=(-1,), time_attr="time").node_ids.tolist() == [0, 1]


@pytest.mark.parametrize("more", [{"weight_attr": "weight"}, {"disjoint": True}, {"time_attr": "time"}])
def test_a_fanout_beyond_all_degrees_takes_no_memory(more: dict[str, Any]) -> None:
    times, weights = np.zeros(4), np.ones(3)
    columns: Any = {"node_data": {"time": times}, "edge_data": {"weight": weights}}
    graph = Graph.from_edge_index([[1, 2, 3], [0, 0, 0]], 4, **columns)
    assert sample(graph, [0], fanouts=(10**12,), **more).num_edges == 3


def test_numbers_that_do_not_fit_are_errors() -> None:
    columns: Any = {"weight": np.array([1.0, 1e300]), "time": np.array([1, 2**63 + 1], np.uint64)}
    graph = Graph.from_edge_index([[1, 2], [0, 0]], 3, edge_data=columns)
    with pytest.raises(InputError, match=r"float32 can hold; got 1e\+300 at edge 1"):
        sample(graph, [0], weight_attr="weight")
    with pytest.raises(InputError, match="times up to"):
        sample(graph, [0], time_attr="time", seed_times=[2])


@pytest.mark.parametrize(
    ("column", "given"),
    [
        (np.array([1, 2]), np.array(["2020-01-01"], "datetime64[s]")),
        (np.array(["2020", "2021"], "datetime64[s]"), np.array([1_600_000_000])),
        (np.array([5, 6], "timedelta64[s]"), np.array(["2020-01-01"], "datetime64[s]")),
    ],
    ids=["dates for numbers", "numbers for dates", "dates for durations"],
)
def test_dates_and_numbers_are_not_compared(column: NDArray[Any], given: NDArray[Any]) -> None:
    graph = Graph.from_edge_index([[1, 2], [0, 0]], 3)
    graph = Graph(indptr=graph.indptr, indices=graph.indices, edge_data={"time": column})
    with pytest.raises(InputError, match="seed_times: expected times like the column's"):
        sample(graph, [0], time_attr="time", seed_times=given)


def test_seed_times_for_a_sampler_without_times_are_an_error() -> None:
    graph = Graph.from_edge_index([[1], [0]], 2)
    with pytest.raises(InputError, match="seed_times: expected a sampler with time_attr; got LaborSampler"):
        sample(graph, [0], "labor", seed_times=[1])
