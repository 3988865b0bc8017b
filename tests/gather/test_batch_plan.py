"""Batches follow from the plan alone, whoever makes them, and travel as plain arrays."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.core.phases import Phase
from workbench.gather import Batch, BatchMaker, BatchPlan, BatchRequest, epoch_requests
from workbench.graph import Graph
from workbench.sampling import sample, split_seeds

ARRAYS = ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop", "x", "y", "ids")
Plans = Callable[..., BatchPlan]


def bits(batch: Batch) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in batch.to_arrays().items() if name != "spans"}


def make_elsewhere(plan: BatchPlan) -> dict[str, bytes]:
    return bits(BatchMaker(plan).make(epoch=2, step=7, rank=1))


def test_a_batch_is_the_sample_of_its_seeds_with_their_rows(graph: Graph, make_plan: Plans) -> None:
    plan = make_plan(world_size=3, rng_seed=11)
    maker = BatchMaker(plan)
    assert maker.steps_per_epoch == 4
    for rank in range(3):
        dealt = split_seeds(graph.train_nodes, batch_size=20, world_size=3, rank=rank, rng_seed=11, epoch=2)
        for step_in_epoch, seeds in enumerate(dealt):
            batch = maker.make(epoch=2, step=5 + step_in_epoch, rank=rank)
            number = step_in_epoch * 3 + rank
            expected = sample(graph, seeds, fanouts=(4, 3), rng_seed=11, epoch=2, batch=number)
            assert np.array_equal(batch.node_ids, expected.node_ids)
            assert np.array_equal(batch.edge_index, expected.edge_index)
            assert np.array_equal(batch.x, graph.x[expected.node_ids])
            assert np.array_equal(batch.y, graph.y[seeds])
            assert (batch.num_seeds, batch.num_nodes, batch.num_edges) == (
                len(seeds),
                expected.num_nodes,
                expected.num_edges,
            )
            assert (batch.epoch, batch.step, batch.step_in_epoch, batch.rank) == (
                2,
                5 + step_in_epoch,
                step_in_epoch,
                rank,
            )


def test_batches_are_the_same_in_any_order_and_by_any_maker(make_plan: Plans) -> None:
    plan = make_plan(world_size=2)
    requests = [
        request
        for epoch in (1, 2, 3)
        for rank in (0, 1)
        for request in epoch_requests(epoch=epoch, rank=rank, steps_per_epoch=5)
    ]
    forwards = [bits(BatchMaker(plan).answer(request)) for request in requests]
    maker = BatchMaker(plan)
    backwards = [bits(maker.answer(request)) for request in reversed(requests)]
    assert forwards == backwards[::-1]
    assert len({batch["edge_ids"] for batch in forwards}) == len(requests)


@pytest.mark.slow
def test_another_process_makes_the_same_bits(make_plan: Plans) -> None:
    plan = make_plan(world_size=2)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(make_elsewhere, plan).result() == make_elsewhere(plan)


def test_stores_and_plans_that_travelled_make_no_difference(make_plan: Plans) -> None:
    plan = make_plan(world_size=2)
    travelled = BatchPlan.from_json(json.loads(json.dumps(pickle.loads(pickle.dumps(plan)).to_json())))
    assert travelled == plan
    mapped = make_plan(world_size=2, store={"name": "mmap", "params": {}})
    assert make_elsewhere(plan) == make_elsewhere(travelled) == make_elsewhere(mapped)


def test_batches_travel_as_arrays_without_being_copied(make_plan: Plans) -> None:
    batch = BatchMaker(make_plan()).make(epoch=1, step=3, rank=0)
    arrays = batch.to_arrays()
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert set(arrays) == {*ARRAYS, "spans"}
    assert batch.nbytes == sum(array.nbytes for array in arrays.values())
    again = Batch.from_arrays(arrays)
    assert again.x is batch.x
    assert bits(again) == bits(batch)
    assert again.spans == batch.spans
    assert repr(again) == repr(batch)


def test_a_batch_says_when_it_was_sampled_and_gathered(make_plan: Plans) -> None:
    sampled, gathered = BatchMaker(make_plan()).make(epoch=1, step=1, rank=0).spans
    assert (sampled.phase, gathered.phase) == (Phase.SAMPLE, Phase.GATHER)
    assert sampled.duration_s > 0
    assert gathered.start_s == pytest.approx(sampled.start_s + sampled.duration_s)


def test_a_rank_without_seeds_gets_an_empty_batch(graph: Graph) -> None:
    few = graph.with_data(train_nodes=np.array([4, 6, 8]))
    plan = BatchPlan(folder=str(few.store()), sampler={"name": "neighbor", "params": {}}, world_size=4)
    batch = BatchMaker(plan).make(epoch=1, step=1, rank=3)
    assert (batch.num_seeds, batch.num_nodes, batch.num_edges) == (0, 0, 0)
    assert batch.x.shape == (0, 7)
    assert batch.y.shape == (0,)


def test_a_graph_without_features_or_labels(graph: Graph) -> None:
    bare = Graph.from_edge_index(graph.edge_index(), graph.num_nodes, train_nodes=np.arange(9))
    batch = BatchMaker(BatchPlan(folder=str(bare.store()), sampler={"name": "full", "params": {}})).make(
        epoch=1, step=1, rank=0
    )
    assert batch.x.shape == (batch.num_nodes, 0)
    assert batch.y is None
    assert Batch.from_arrays(batch.to_arrays()).y is None


def test_other_splits_can_be_the_seeds(graph: Graph, make_plan: Plans) -> None:
    maker = BatchMaker(make_plan(seed_set="val_nodes", batch_size=100))
    assert sorted(maker.make(epoch=1, step=1, rank=0).node_ids[:100]) == graph.val_nodes.tolist()


def test_the_step_in_the_epoch_may_be_given_where_epochs_had_other_lengths(make_plan: Plans) -> None:
    maker = BatchMaker(make_plan())
    usual = maker.make(epoch=2, step=maker.steps_per_epoch + 4, rank=0)
    after_a_change = maker.make(epoch=2, step=500, step_in_epoch=3, rank=0)
    assert after_a_change.step == 500
    assert usual.edge_ids.tolist() == after_a_change.edge_ids.tolist()


def test_requests_of_an_epoch() -> None:
    assert list(epoch_requests(epoch=3, rank=1, steps_per_epoch=4, first=2)) == [
        BatchRequest(epoch=3, step_in_epoch=2, step=11, rank=1),
        BatchRequest(epoch=3, step_in_epoch=3, step=12, rank=1),
    ]
    (only,) = epoch_requests(epoch=3, rank=0, steps_per_epoch=1, last_step=20)
    assert only.step == 21


@pytest.mark.parametrize("wrong", [{"epoch": 1, "step": 11}, {"epoch": 2, "step": 10}, {"rank": 1}, {"rank": -1}])
def test_a_batch_that_is_not_of_the_plan_is_an_error(make_plan: Plans, wrong: dict[str, int]) -> None:
    maker = BatchMaker(make_plan())
    assert maker.steps_per_epoch == 10
    with pytest.raises(InputError, match="rank" if "rank" in wrong else "step_in_epoch"):
        maker.make(**{"epoch": 1, "step": 1, "rank": 0, **wrong})


def test_wrong_plans_are_told_all_at_once(make_plan: Plans) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(batch_size=0, world_size=0, seed_set="train")
    assert [finding.where for finding in caught.value.findings] == ["batch_size", "world_size", "seed_set"]
