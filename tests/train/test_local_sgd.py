"""Local SGD: one local step is all-reduce; averages count by seeds; what a person sees is the average."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.train.test_resume import control_at
from tests.train.updates_here import WORDS, double_model, largest_difference, train, weights
from workbench.core.errors import InputError, RunError
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import UPDATES, checkpoint, resolve
from workbench.train.recorder import Recorder
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport

NewFolder = Callable[[], Path]


@pytest.mark.parametrize("trainers", [1, 2, 3])
def test_one_local_step_with_plain_sgd_is_all_reduce(trainers: int, new_folder: NewFolder) -> None:
    local = train(new_folder(), update="local_sgd", local_steps=1, trainers=trainers)
    whole = train(new_folder(), trainers=trainers)
    assert largest_difference(local, whole) < 1e-10
    assert local.losses == pytest.approx(whole.losses, abs=1e-10)


def test_more_local_steps_are_something_else(new_folder: NewFolder) -> None:
    """The comparison above can fail: with three local steps the weights are others."""
    local = train(new_folder(), update="local_sgd", local_steps=3, trainers=2)
    assert largest_difference(local, train(new_folder(), trainers=2)) > 1e-6


def by_hand(parts: list[list[float]], seeds: list[list[int]], local_steps: int) -> list[tuple[float, list[Any]]]:
    """Run the rule on one parameter w with gradients ``parts[rank][step]`` of summed losses."""

    def rank(transport: Transport) -> tuple[float, list[Any]]:
        module = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        nn.init.zeros_(module.weight)
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
        update = UPDATES.create("local_sgd", local_steps=local_steps).open(module, optimizer, transport, Recorder())
        totals = []
        for gradient, count in zip(parts[transport.rank], seeds[transport.rank], strict=True):
            module.weight.grad = torch.full((1, 1), gradient, dtype=torch.float64) if count else None
            totals.append(update.apply(gradient, count, vote=float(transport.rank == 0)))
        return module.weight.item(), totals

    return run_in_threads(len(parts), rank, through_memory=True)


def test_ranks_count_by_their_seeds() -> None:
    # Rank 0: two steps of mean gradient 1, 3 seeds each; rank 1: one step of mean gradient 4 with 2 seeds, then none.
    results = by_hand([[3.0, 3.0], [8.0, 0.0]], [[3, 3], [2, 0]], local_steps=2)
    expected = (6 * -2.0 + 2 * -4.0) / 8
    for weight, totals in results:
        assert weight == pytest.approx(expected, abs=1e-15)
        assert (totals[0].num_seeds, totals[1].num_seeds, totals[1].vote) == (0, 8, 2.0)
        assert totals[1].loss_sum == pytest.approx(14.0)


def test_a_rank_without_a_seed_takes_over_the_mean_of_the_others() -> None:
    for weight, _ in by_hand([[2.0], [0.0], [4.0]], [[2], [0], [2]], local_steps=1):
        assert weight == pytest.approx(-1.5)


def test_no_seed_anywhere_changes_nothing() -> None:
    assert [weight for weight, _ in by_hand([[0.0], [0.0]], [[0], [0]], local_steps=1)] == [0.0, 0.0]


def test_a_loss_that_is_no_number_ends_all_ranks_where_they_meet() -> None:
    results = by_hand([[1.0, 1.0], [float("nan"), 1.0]], [[1, 1], [1, 1]], local_steps=2)
    for weight, totals in results:
        assert totals[0].loss_sum == 0.0
        assert totals[1].loss_sum != totals[1].loss_sum
        assert weight == pytest.approx((2 * -2.0 + 1 * -1.0) / 3)  # nobody stepped by it


def test_a_run_with_an_infinite_loss_says_so(new_folder: NewFolder) -> None:
    with pytest.raises(RunError, match="finite number"):
        train(new_folder(), update="local_sgd", local_steps=3, trainers=2, lr=1e200)


def test_evaluating_more_often_changes_nothing(new_folder: NewFolder) -> None:
    """Evaluation and checkpoints see the average; training goes on from each rank's own parameters."""
    words: dict[str, Any] = {"update": "local_sgd", "local_steps": 5, "trainers": 2}  # an epoch has four steps
    often = train(new_folder(), **words)
    seldom = train(new_folder(), **words, evaluate_every=0, checkpoint_every=0)
    assert largest_difference(often, seldom) == 0.0
    assert often.losses == seldom.losses


def test_what_is_saved_is_the_average_that_was_evaluated(new_folder: NewFolder) -> None:
    """After one epoch of four steps with averages every third, ranks stand apart; the model is their mean."""
    graph = graphs.random(60, 200)
    run = train(new_folder(), graph=graph, update="local_sgd", local_steps=3, trainers=2, epochs=1)
    saved = checkpoint.load_newest(run.folder)
    assert saved is not None
    own = [checkpoint.load_of_rank(run.folder, saved["progress"]["step"], rank)["update"] for rank in range(2)]
    names = [name for name, _ in double_model(graph).named_parameters()]
    assert any((a - b).abs().max() > 1e-6 for a, b in zip(own[0]["parameters"], own[1]["parameters"], strict=True))
    total = own[0]["weight"] + own[1]["weight"]
    for position, name in enumerate(names):
        mean = sum(state["weight"] * state["parameters"][position] for state in own) / total
        assert (saved["model"][name] - mean).abs().max() < 1e-12
        assert torch.equal(saved["model"][name], weights(run)[name])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("step", [2, 4, 5, 7])
def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(step: int, optimizer: str, new_folder: NewFolder) -> None:
    words: dict[str, Any] = {"update": "local_sgd", "local_steps": 3, "trainers": 1, "optimizer": optimizer}
    whole, folder = train(new_folder(), **words), new_folder()
    part = train(folder, controls=control_at(step, "stop"), **words)
    assert part.outcomes[0].status == "stopped"
    rest = train(folder, **words)
    assert part.losses + rest.losses == whole.losses
    assert largest_difference(rest, whole) == 0.0


def test_two_ranks_resume_each_with_its_own_moments(new_folder: NewFolder) -> None:
    """From the checkpoint of an epoch in the middle of a round: the rest of the run has the same bits."""
    words: dict[str, Any] = {"update": "local_sgd", "local_steps": 3, "trainers": 2, "optimizer": "adam"}
    whole, folder = train(new_folder(), **words), new_folder()
    train(folder, **{**words, "epochs": 1})
    graph = graphs.random(60, 200)
    rest = train_here(resolve(graph, double_model(graph), "mini_batch", **{**WORDS, **words}), folder)
    assert rest.losses == whole.losses[1:]
    assert largest_difference(rest, whole) == 0.0


def test_ranks_meet_as_often_as_they_say(new_folder: NewFolder) -> None:
    run = train(new_folder(), update="local_sgd", local_steps=2, trainers=2, epochs=2)
    size = sum(tensor.numel() * 8 for tensor in weights(run).values())
    moved = [step["bytes"].get("parameter_average", 0) for step in run.told("step_finished", rank=0)]
    assert moved == [0, size] * 4
    assert all("all_reduce" not in step["bytes"] for step in run.told("step_finished"))


def test_a_strategy_whose_ranks_compute_together_is_refused() -> None:
    graph = graphs.random(60, 200)
    with pytest.raises(InputError, match="by themselves"):
        resolve(graph, "sage", "halo_exchange", update="local_sgd", trainers=2, epochs=1)
    resolve(graph, "sage", "halo_exchange", update="local_sgd", trainers=1, epochs=1)


def test_its_parameter_is_a_keyword_of_the_launch() -> None:
    graph = graphs.random(60, 200)
    resolved = resolve(graph, "sage", update="local_sgd", local_steps=4, epochs=1, fanouts=(2, 2))
    assert dict(resolved.config.update.params) == {"local_steps": 4}
    with pytest.raises(InputError, match="update rule 'local_sgd'"):
        resolve(graph, "sage", local_steps=4, epochs=1, fanouts=(2, 2))
    with pytest.raises(InputError, match="local_steps"):
        resolve(graph, "sage", update="local_sgd", local_steps=0, epochs=1, fanouts=(2, 2))
