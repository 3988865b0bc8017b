"""Batches of every sampler: weights and trees travel, and who draws its seeds decides the number of steps."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.gather import Batch, BatchMaker, BatchPlan
from workbench.graph import Graph
from workbench.sampling import SAMPLERS, sample
from workbench.testing import graphs
from workbench.testing.sampler_cases import CASES, cases, sampler_of, with_columns

OPTIONAL = ("edge_weight", "node_weight", "batch")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return with_columns(graphs.random(400, 2000))


def maker_of(graph: Graph, case: str, world_size: int = 1) -> BatchMaker:
    sampler = SAMPLERS.to_dict(sampler_of(case))
    return BatchMaker(BatchPlan(folder=str(graph.store()), sampler=sampler, batch_size=20, world_size=world_size))


@pytest.mark.parametrize("case", CASES)
def test_a_batch_has_what_its_sampler_gives_also_after_a_journey(graph: Graph, case: str) -> None:
    maker = maker_of(graph, case)
    batch = maker.make(epoch=1, step=2, rank=0)
    seeds = maker.seeds(epoch=1, step_in_epoch=1, rank=0)
    drawn = sample(graph, seeds, sampler_of(case), epoch=1, batch=1)
    travelled = Batch.from_arrays({name: array.copy() for name, array in batch.to_arrays().items()})
    for name in ("node_ids", "edge_ids", *OPTIONAL):
        wanted = getattr(drawn, name)
        for found in (getattr(batch, name), getattr(travelled, name)):
            assert (found is None) == (wanted is None), name
            assert wanted is None or np.array_equal(found, wanted), name
    assert np.array_equal(batch.y, graph.y[batch.node_ids[: batch.num_seeds]])


@pytest.mark.parametrize("case", cases(draws_seeds=True))
@pytest.mark.parametrize("world_size", [1, 3])
def test_who_draws_its_seeds_decides_the_steps(graph: Graph, case: str, world_size: int) -> None:
    maker = maker_of(graph, case, world_size)
    assert maker.steps_per_epoch == -(-sampler_of(case).num_batches(graph) // world_size)
    batches = [
        maker.make(epoch=1, step_in_epoch=step, step=step + 1, rank=rank)
        for step in range(maker.steps_per_epoch)
        for rank in range(world_size)
    ]
    seeds = np.concatenate([batch.node_ids[: batch.num_seeds] for batch in batches])
    assert set(seeds.tolist()) <= set(graph.train_nodes.tolist())
    if case == "cluster":  # every training node exactly once, whatever the number of ranks
        assert sorted(seeds.tolist()) == graph.train_nodes.tolist()
