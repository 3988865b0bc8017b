"""Seed nodes: every form in which they come, and how an epoch deals them out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.sampling import as_node_ids, sample, split_seeds
from workbench.sampling.seeds import num_steps
from workbench.testing import graphs

MASK = np.array([False, True, False, True, False, False])


@pytest.mark.parametrize(
    "seeds",
    [
        [1, 3],
        (1, 3),
        range(1, 4, 2),
        np.array([1, 3], np.uint8),
        np.array([1, 9, 3, 9])[::2],
        torch.tensor([1, 3]),
        torch.tensor([1.0, 3.0]).long().requires_grad_(False),
        MASK,
        MASK.tolist(),
        torch.from_numpy(MASK),
    ],
    ids=lambda seeds: type(seeds).__name__,
)
def test_seeds_in_any_form(seeds: object) -> None:
    ids = as_node_ids(seeds, 6, "seed_nodes")
    assert ids.tolist() == [1, 3]
    assert ids.dtype == np.int64
    assert ids.flags.c_contiguous
    assert sample(graphs.path(6), seeds).seed_nodes.tolist() == [1, 3]


def test_one_node_and_none() -> None:
    assert as_node_ids(4, 6, "seed_nodes").tolist() == [4]
    assert as_node_ids(np.int32(4), 6, "seed_nodes").tolist() == [4]
    for nothing in ([], (), np.array([]), torch.tensor([]), np.zeros(6, bool)):
        assert as_node_ids(nothing, 6, "seed_nodes").tolist() == []


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ([1.0, 3.0], r"start_nodes: expected whole numbers.*float64 \[1.0, 3.0\].*astype\('int64'\)"),
        (torch.tensor([0.5]), "whole numbers"),
        ([0, 6], r"ids from 0 to 5; got 1 outside: \[6\]"),
        ([-1], "ids from 0 to 5"),
        ([2**63], "ids from 0 to 5"),
        ([[1, 3]], r"one dimension; got shape \(1, 2\)"),
        ([[1.5]], "2 problems found"),
        ([[1], [2, 3]], "mixed shape"),
        (["a"], "whole numbers"),
        (None, "whole numbers"),
        (MASK[:4], r"a mask of shape \(6,\); got shape \(4,\)"),
        (list(range(6, 20)), r"14 outside: \[6, 7, 8, 9, 10, \.\.\.\]"),
    ],
    ids=str,
)
def test_what_are_no_seeds_is_said_with_the_name_of_the_argument(seeds: object, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        as_node_ids(seeds, 6, "start_nodes")
    assert "start_nodes" in str(caught.value)


@given(
    num_nodes=st.integers(0, 200),
    batch_size=st.integers(1, 70),
    world_size=st.integers(1, 7),
    rng_seed=st.integers(0, 2**63),
    epoch=st.integers(0, 50),
)
def test_every_node_once_and_equal_steps(
    num_nodes: int, batch_size: int, world_size: int, rng_seed: int, epoch: int
) -> None:
    nodes = np.arange(num_nodes) * 3
    shared = {"batch_size": batch_size, "world_size": world_size, "rng_seed": rng_seed, "epoch": epoch}
    ranks = [split_seeds(nodes, rank=rank, **shared) for rank in range(world_size)]
    assert {len(batches) for batches in ranks} == {num_steps(num_nodes, batch_size, world_size)}
    dealt = [ids for batches in ranks for batch in batches for ids in batch.tolist()]
    assert sorted(dealt) == nodes.tolist()
    sizes = np.array([[len(batch) for batch in batches] for batches in ranks])
    assert (sizes <= batch_size).all()
    if sizes.size:
        assert (np.ptp(sizes, axis=0) <= 1).all(), "ranks of a step differ by at most one seed"
        assert np.ptp(sizes.sum(axis=0)) <= 1, "steps differ by at most one seed"


def sizes_of(num_nodes: int, world_size: int) -> list[list[int]]:
    nodes, shape = np.arange(num_nodes), {"batch_size": 1024, "world_size": world_size}
    return [[len(batch) for batch in split_seeds(nodes, rank=rank, **shape)] for rank in range(world_size)]


def test_4097_nodes_on_4_ranks_take_two_steps_everywhere() -> None:
    assert sizes_of(4097, 4) == [[513, 512], [512, 512], [512, 512], [512, 512]]


def test_3_nodes_on_4_ranks_leave_one_rank_an_empty_step() -> None:
    assert sizes_of(3, 4) == [[1], [1], [1], [0]]


def test_no_nodes_take_no_step() -> None:
    assert split_seeds([], batch_size=4) == []


def test_the_order_depends_on_rng_seed_and_epoch_alone() -> None:
    nodes = np.arange(100)

    def order(**key: int) -> list[int]:
        return np.concatenate(split_seeds(nodes, batch_size=7, **key)).tolist()

    assert order(epoch=1) == order(epoch=1)
    orders = {tuple(order(rng_seed=seed, epoch=epoch)) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
    assert tuple(range(100)) not in orders
    assert np.concatenate(split_seeds(nodes, batch_size=50, epoch=1)).tolist() == order(epoch=1)


def test_wrong_splits_are_told_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        split_seeds([1, 2, 2], batch_size=0, world_size=2, rank=2)
    assert [finding.where for finding in caught.value.findings] == ["nodes", "batch_size", "rank"]
    with pytest.raises(InputError, match="whole numbers"):
        split_seeds([0.5], batch_size=1)
