"""The parameter server: bound 0 is all-reduce; no read is older than its bound, whatever the schedule."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.train.test_resume import control_at
from tests.train.updates_here import largest_difference, train, weights
from workbench.core.errors import InputError, RunError
from workbench.testing import graphs
from workbench.train import resolve
from workbench.train.server_main import ServerState

NewFolder = Callable[[], Path]
SERVED: dict[str, Any] = {"update": "parameter_server"}


def new_state(world_size: int, bound: int) -> ServerState:
    parameter = torch.zeros(2, dtype=torch.float64).requires_grad_()
    return ServerState([parameter], torch.optim.SGD([parameter], lr=1.0), world_size, bound)


def push(state: ServerState, rank: int, value: float = 1.0, seeds: int = 1, vote: float = 0.0) -> None:
    flat = torch.full((2,), value, dtype=torch.float64)
    state.push(rank, state.clocks[rank] + 1, flat, [1.0], [value, float(seeds), vote])


# ---- the state by itself


@settings(max_examples=200, deadline=None)
@given(world=st.integers(1, 5), bound=st.integers(0, 4), choices=st.lists(st.integers(0, 10**6), max_size=120))
def test_no_read_is_older_than_its_bound_whatever_the_schedule(world: int, bound: int, choices: list[int]) -> None:
    """Any order in which ranks push and read: what a rank reads holds every push of the steps before its bound."""
    state = new_state(world, bound)
    pushed: list[list[int]] = [[] for _ in range(world)]
    wants_to_read = [False] * world
    for choice in choices:
        able = [r for r in range(world) if not wants_to_read[r] or state.may_read(r)]
        assert able, "nobody can go on: a deadlock"
        rank = able[choice % len(able)]
        if wants_to_read[rank]:
            age = state.answer(rank)["age"]
            lacking = [len(pushed[rank]) - len(own) for own in pushed]
            assert age == max(lacking)
            assert 0 <= age <= bound
            # Every gradient is 1 with lr 1, so the parameters say how many pushes they hold.
            counted = -state.parameters[0][0].item()
            if bound:
                assert counted == sum(map(len, pushed))
            else:
                assert counted == min(map(len, pushed))
            wants_to_read[rank] = False
        else:
            push(state, rank)
            pushed[rank].append(state.clocks[rank])
            wants_to_read[rank] = True
    assert max(state.clocks) - min(state.clocks) <= bound + 1


def test_a_fast_rank_may_not_read_beyond_the_bound() -> None:
    state = new_state(2, bound=2)
    for _ in range(2):
        push(state, 0)
        assert state.may_read(0)
    push(state, 0)
    assert not state.may_read(0)
    push(state, 1)
    assert state.may_read(0)
    assert state.answer(0)["age"] == 2


def test_bound_zero_steps_once_with_the_mean_over_all_seeds() -> None:
    state = new_state(3, bound=0)
    push(state, 2, value=6.0, seeds=2)
    push(state, 0, value=3.0, seeds=1)
    assert not state.may_read(0)
    assert state.parameters[0].tolist() == [0.0, 0.0]
    push(state, 1, value=0.0, seeds=0)
    assert state.parameters[0].tolist() == [-3.0, -3.0]
    assert state.num_updates == 1
    assert (state.answer(1)["loss"], state.answer(1)["seeds"]) == (9.0, 3.0)


def test_a_bound_above_zero_steps_at_every_push_with_seeds() -> None:
    state = new_state(2, bound=1)
    push(state, 0, value=6.0, seeds=3)
    assert state.parameters[0].tolist() == [-2.0, -2.0]
    push(state, 1, value=4.0, seeds=0)
    assert state.parameters[0].tolist() == [-2.0, -2.0]
    assert (state.num_updates, state.clocks) == (1, [1, 1])


def test_a_wish_to_save_reaches_all_ranks_at_the_same_step() -> None:
    """Over random schedules: each rank is told once, at one step, whoever was ahead."""
    for attempt in range(50):
        chance, state, told = random.Random(attempt), new_state(3, bound=2), {}
        for _ in range(60):
            rank = chance.choice([r for r in range(3) if state.may_read(r)])
            push(state, rank, vote=float(rank == 0 and 3 <= state.clocks[0] < 8 and not told))
            if state.may_read(rank) and state.answer(rank)["vote"]:
                told.setdefault(state.clocks[rank], []).append(rank)
            elif not state.may_read(rank) and state.save_at == state.clocks[rank]:
                told.setdefault(state.clocks[rank], []).append(rank)  # it will be, when it may read
        assert [sorted(set(ranks)) for ranks in told.values()] == [[0, 1, 2]]


def test_a_loss_that_is_no_number_is_told_to_all_and_not_applied() -> None:
    state = new_state(2, bound=3)
    push(state, 1, value=float("nan"))
    push(state, 0)
    assert state.parameters[0].tolist() == [0.0, 0.0]
    assert state.answer(0)["loss"] != state.answer(0)["loss"]


def test_a_push_out_of_turn_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="pushes step 5 after step 0"):
        new_state(1, 0).push(0, 5, torch.zeros(2), [1.0], [0.0, 0.0, 0.0])


# ---- runs


@pytest.mark.parametrize(("optimizer", "trainers"), [("sgd", 1), ("sgd", 3), ("adam", 2), ("adamw", 2)])
def test_bound_zero_is_all_reduce(optimizer: str, trainers: int, new_folder: NewFolder) -> None:
    words: dict[str, Any] = {"trainers": trainers, "optimizer": optimizer, "lr": 0.01, "weight_decay": 1e-3}
    served = train(new_folder(), **SERVED, staleness_bound=0, **words)
    whole = train(new_folder(), **words)
    assert largest_difference(served, whole) < 1e-10
    assert served.losses == pytest.approx(whole.losses, abs=1e-10)


def test_bound_zero_is_all_reduce_where_ranks_compute_together(new_folder: NewFolder) -> None:
    from tests.train.updates_here import double_model
    from workbench.testing.rank_context import train_here

    graph = graphs.random(60, 200).with_data(train_nodes=graphs.random(60, 200).train_nodes[:3])
    words: dict[str, Any] = {"trainers": 3, "epochs": 3, "optimizer": "sgd", "lr": 0.1, "partition": "hash"}
    runs = [
        train_here(resolve(graph, double_model(graph), "halo_exchange", **words, **more), new_folder())
        for more in ({}, {**SERVED, "staleness_bound": 0})
    ]
    assert largest_difference(*runs) < 1e-10


def test_a_greater_bound_is_something_else_and_learns(new_folder: NewFolder) -> None:
    served = train(new_folder(), **SERVED, staleness_bound=2, trainers=2, epochs=10)
    whole = train(new_folder(), trainers=2, epochs=10)
    assert largest_difference(served, whole) > 1e-6
    assert served.losses[-1] < served.losses[0]
    steps = served.told("step_finished")
    assert sum(step["num_seeds"] for step in steps) == sum(step["num_seeds"] for step in whole.told("step_finished"))


def test_ages_and_bytes_are_told_in_every_step(new_folder: NewFolder) -> None:
    run = train(new_folder(), **SERVED, staleness_bound=3, trainers=2)
    readings, steps = run.told("staleness_measured"), run.told("step_finished")
    assert len(readings) == len(steps)
    assert {reading["source"] for reading in readings} == {"parameters"}
    assert {reading["bound"] for reading in readings} == {3}
    assert all(0 <= age <= 3 for reading in readings for age in reading["ages"])
    size = sum(tensor.numel() * 8 for tensor in weights(run).values())
    for step in steps:
        assert (step["bytes"]["parameter_push"], step["bytes"]["parameter_pull"]) == (size, size)
        assert "all_reduce" not in step["bytes"]
    predicted = run.told("traffic_predicted")[0]["bytes"]
    assert predicted == {"parameter_push": 2 * size, "parameter_pull": 2 * size}
    for rank in range(2):
        told = run.told("messages_counted", rank=rank)
        assert [dict(one) for one in told] == [
            {"step": 1, "rounds": {"parameter_push": 1}, "messages": {"parameter_push": 1}}
        ]


@pytest.mark.parametrize("step", [2, 4])
def test_with_bound_zero_a_resumed_run_has_the_same_bits(step: int, new_folder: NewFolder) -> None:
    words: dict[str, Any] = {**SERVED, "staleness_bound": 0, "optimizer": "adam", "lr": 0.01}
    whole, folder = train(new_folder(), **words), new_folder()
    part = train(folder, controls=control_at(step, "stop"), **words)
    rest = train(folder, **words)
    assert part.losses + rest.losses == whole.losses
    assert largest_difference(rest, whole) == 0.0


def test_an_asynchronous_run_resumes_and_says_that_bits_differ(new_folder: NewFolder) -> None:
    words: dict[str, Any] = {**SERVED, "staleness_bound": 2, "trainers": 2, "optimizer": "adam", "lr": 0.01}
    folder = new_folder()
    first = train(folder, **{**words, "epochs": 2})
    rest = train(folder, **{**words, "epochs": 6})
    assert [step["step"] for step in rest.told("step_finished", rank=0)] == list(range(9, 25))
    assert rest.losses[-1] < first.losses[0]
    texts = [log["text"] for log in rest.told("log_written")]
    assert any("same accuracy" in text and "step 8" in text for text in texts)
    assert not any("same accuracy" in log["text"] for log in first.told("log_written"))


def test_an_infinite_loss_ends_the_run(new_folder: NewFolder) -> None:
    with pytest.raises(RunError, match="finite number"):
        train(new_folder(), **SERVED, staleness_bound=2, trainers=2, lr=1e200)


def test_a_strategy_whose_ranks_compute_together_is_refused() -> None:
    graph = graphs.random(60, 200)
    with pytest.raises(InputError, match="by themselves"):
        resolve(graph, "sage", "halo_exchange", **SERVED, trainers=2, epochs=1)
