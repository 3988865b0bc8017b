"""Batches of links and of whole graphs: dealt out once an epoch, the same bits whoever makes them, no leak."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from workbench.gather import EXAMPLES, Batch, BatchMaker, BatchPlan
from workbench.gather.examples.graphs import whole_graphs
from workbench.gather.link_split import split_links
from workbench.graph import Graph
from workbench.graph.graph_set import GRAPH_IDS, graph_set
from workbench.testing import graphs

LINKS: dict[str, Any] = {
    "name": "links",
    "params": {"val_share": 0.2, "test_share": 0.1, "split_rng_seed": 0, "num_negatives": 2},
}
NEIGHBOR = {"name": "neighbor", "params": {"fanouts": [3, 3]}}


def bits(batch: Batch) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in batch.to_arrays().items() if name != "spans"}


def link_plan(graph: Graph, **words: Any) -> BatchPlan:
    return BatchPlan(folder=str(graph.store()), **{"sampler": NEIGHBOR, "batch_size": 20, "examples": LINKS, **words})


def split_of(graph: Graph) -> Any:
    return split_links(graph, val_share=0.2, test_share=0.1, rng_seed=0)


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("name", ["random", "directed", "multigraph", "two_components", "self_loops"])
def test_every_training_edge_comes_once_an_epoch(name: str, world_size: int) -> None:
    graph = graphs.NAMED[name]()
    maker, split = BatchMaker(link_plan(graph, world_size=world_size)), split_of(graph)
    wanted = sorted(zip(*split.train_pairs.tolist(), strict=True))
    for epoch in (1, 2):
        seen = []
        for step in range(maker.steps_per_epoch):
            sizes = []
            for rank in range(world_size):
                batch = maker.make(epoch=epoch, step=(epoch - 1) * maker.steps_per_epoch + step + 1, rank=rank)
                assert batch.pairs is not None
                assert batch.y is not None
                ends = batch.node_ids[batch.pairs[:, batch.y == 1]]
                sizes.append(ends.shape[1])
                seen += [tuple(sorted(pair)) if split.symmetric else tuple(pair) for pair in ends.T.tolist()]
            assert max(sizes) <= 20
            assert max(sizes) - min(sizes) <= 1
        assert sorted(seen) == wanted


@pytest.mark.parametrize("name", ["random", "multigraph", "directed", "karate"])
@pytest.mark.parametrize("sampler", [NEIGHBOR, {"name": "full", "params": {}}, {"name": "labor", "params": {}}])
def test_no_message_goes_along_what_is_predicted(name: str, sampler: Any) -> None:
    graph = graphs.NAMED[name]()
    maker, split = BatchMaker(link_plan(graph, sampler=sampler, batch_size=7)), split_of(graph)
    held_out = set(zip(*np.concatenate([split.val_pairs, split.test_pairs], axis=1).tolist(), strict=True))
    for step in range(1, maker.steps_per_epoch + 1):
        batch = maker.make(epoch=1, step=step, rank=0)
        assert batch.pairs is not None
        assert batch.y is not None
        seeds = set(zip(*batch.node_ids[batch.pairs[:, batch.y == 1]].tolist(), strict=True))
        source, destination = batch.node_ids[batch.edge_index]
        messages = set(zip(source.tolist(), destination.tolist(), strict=True))
        forbidden = seeds | held_out
        if split.symmetric:
            forbidden |= {(b, a) for a, b in forbidden}
        assert not messages & forbidden
        ends = np.stack([split.messages.indices[batch.edge_ids], destination])
        assert np.array_equal(ends[0], source)  # edge ids are those of the graph that the model sees
        assert int(batch.num_edges_per_hop.sum()) == batch.num_edges
        there = set(zip(*graph.edge_index().tolist(), strict=True))
        assert not set(zip(*batch.node_ids[batch.pairs[:, batch.y == 0]].tolist(), strict=True)) & there


def test_batches_of_links_follow_from_the_plan_alone() -> None:
    plan = link_plan(graphs.random(80, 300), world_size=2)
    travelled = BatchPlan.from_json(json.loads(json.dumps(plan.to_json())))
    here, there = BatchMaker(plan), BatchMaker(travelled)
    requests = [(epoch, step, rank) for epoch in (1, 2) for step in range(3) for rank in (0, 1)]
    steps = here.steps_per_epoch
    wanted = [bits(here.make(epoch=e, step=(e - 1) * steps + s + 1, rank=r)) for e, s, r in requests]
    found = [bits(there.make(epoch=e, step=(e - 1) * steps + s + 1, rank=r)) for e, s, r in reversed(requests)]
    assert wanted == found[::-1]
    batch = here.make(epoch=1, step=1, rank=1)
    assert bits(Batch.from_arrays(batch.to_arrays())) == bits(batch)


def test_a_rank_without_an_edge_gets_an_empty_batch() -> None:
    graph = graphs.path(4)
    batch = BatchMaker(link_plan(graph, world_size=4)).make(epoch=1, step=1, rank=3)
    assert (batch.num_nodes, batch.num_edges) == (0, 0)
    assert batch.pairs is not None
    assert batch.pairs.shape == (2, 0)


@pytest.mark.parametrize("ids", [[0], [2, 0], [], [3, 1, 2]])
def test_whole_graphs_come_with_all_their_edges(ids: list[int]) -> None:
    graph, chosen = graphs.union(3, 5, 1, 4), np.array(ids, np.int64)
    found, part = graph_set(graph), whole_graphs(graph, np.array(ids, np.int64))
    assert part.batch is not None
    assert np.array_equal(graph.node_data[GRAPH_IDS][part.node_ids], chosen[part.batch])
    assert len(part.node_ids) == np.diff(found.starts)[chosen].sum()
    source, destination = graph.edge_index()
    wanted = np.isin(graph.node_data[GRAPH_IDS][destination], chosen)
    assert sorted(part.edge_ids.tolist()) == np.flatnonzero(wanted).tolist()
    assert np.array_equal(part.node_ids[part.edge_index], np.stack([source, destination])[:, part.edge_ids])


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_every_training_graph_comes_once_an_epoch(world_size: int) -> None:
    graph = graphs.union(*[2 + i % 5 for i in range(20)])
    plan = BatchPlan(
        folder=str(graph.store()),
        sampler={"name": "full", "params": {}},
        batch_size=3,
        world_size=world_size,
        examples={"name": "graphs", "params": {}},
    )
    maker, found = BatchMaker(plan), graph_set(graph)
    seen: list[int] = []
    sizes = []
    for step in range(1, maker.steps_per_epoch + 1):
        for rank in range(world_size):
            batch = maker.make(epoch=1, step=step, rank=rank)
            assert batch.y is not None
            assert batch.batch is not None
            own = graph.node_data[GRAPH_IDS][batch.node_ids]
            first = np.flatnonzero(np.diff(batch.batch, prepend=-1))
            assert np.array_equal(batch.y, found.y[own[first]])  # type: ignore[index]
            assert np.array_equal(batch.x, graph.x[batch.node_ids])
            seen += own[first].tolist()
            sizes.append(len(batch.y))
    assert sorted(seen) == found.train_graphs.tolist()
    assert max(sizes) - min(sizes) <= 1


def test_kinds_of_examples_are_a_registry() -> None:
    assert EXAMPLES.names() == ("graphs", "links")
    assert all(entry.summary for entry in EXAMPLES)
