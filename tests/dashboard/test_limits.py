"""Each way in which a run can be slow gets its own verdict, with the numbers that it rests on."""

import pytest

from workbench.dashboard.limits import Facts, RankFacts, find_limit


def rank(index: int = 0, **seconds: float) -> RankFacts:
    return RankFacts(rank=index, part=index, **{"step_s": 1.0, "compute_s": 0.8, **seconds})


def facts(*ranks: RankFacts, **more: float) -> Facts:
    return Facts(ranks=ranks, **{"num_steps": 20, "num_samplers": 2, **more})


def test_before_the_third_step_nothing_is_claimed() -> None:
    assert find_limit(facts(rank(), num_steps=2)).what == "Not known yet"
    assert find_limit(Facts()).what == "Not known yet"


def test_a_rank_that_waits_for_its_batches_holds_up_the_others() -> None:
    waiting = rank(0, wait_for_rank_s=0.42, compute_s=0.5, supply_s=0.63)
    late = rank(1, wait_for_batch_s=0.36, compute_s=0.5, supply_s=1.18)
    verdict = find_limit(facts(waiting, late))
    assert verdict.what == "Rank 1 is late by 420 ms a step; rank 0 waits for it"
    assert verdict.where == (
        "Part 1: rank 1 waits 360 ms a step for its batches. One takes 1,180 ms to make, 630 ms for the other rank."
    )
    assert "samplers=3" in verdict.advice


def test_a_rank_with_heavier_batches_is_named_with_its_edges() -> None:
    light = [rank(i, wait_for_rank_s=0.3, compute_s=0.5, num_edges=100_000) for i in range(3)]
    verdict = find_limit(facts(*light, rank(3, compute_s=0.8, num_edges=150_000)))
    assert verdict.what == "Rank 3 is late by 300 ms a step; ranks 0, 1 and 2 wait for it"
    assert "computes 300 ms longer" in verdict.where
    assert "50% more edges" in verdict.where


def test_a_slow_machine_is_told_from_heavy_batches() -> None:
    verdict = find_limit(facts(rank(0, wait_for_rank_s=0.3, num_edges=9), rank(1, compute_s=1.1, num_edges=9)))
    assert "batches of the same size" in verdict.where
    assert "machine" in verdict.advice


@pytest.mark.parametrize(("num_samplers", "advice"), [(0, "launch with samplers=1"), (2, "samplers=3")])
def test_batches_that_come_too_slowly(num_samplers: int, advice: str) -> None:
    slow = rank(0, wait_for_batch_s=0.5, compute_s=0.4, supply_s=0.9, sample_s=0.7, gather_s=0.2)
    verdict = find_limit(facts(slow, num_samplers=num_samplers))
    assert verdict.what == "Batches come too slowly: 50% of a step is spent waiting for them"
    assert "mostly sampling" in verdict.where
    assert advice in verdict.advice


def test_communication_and_evaluation() -> None:
    assert find_limit(facts(rank(exchange_s=0.3))).what == "Communication takes 30% of a step"
    verdict = find_limit(facts(rank(), evaluate_s=12.0, evaluate_every=2, steps_per_epoch=9))
    assert verdict.what == "Exact inference takes 40% of the time"
    assert verdict.where == "The whole graph is evaluated after every 2 epochs: 12 s beside 18 s of steps."
    assert "evaluate_every=4" in verdict.advice


def test_a_run_that_computes_is_well() -> None:
    verdict = find_limit(facts(rank(compute_s=0.9), evaluate_s=2.0, steps_per_epoch=20))
    assert verdict.tone == "done"
    assert verdict.where.endswith(
        "hardly any waiting. Exact inference after each epoch takes 2 s beside 20 s of steps."
    )
    assert verdict.what.startswith("The model's arithmetic: 90%")


def test_the_dearest_limit_is_told() -> None:
    """A rank late by a fifth of a step matters less than evaluation that takes half of the time."""
    ranks = (rank(0, wait_for_rank_s=0.2), rank(1))
    assert find_limit(facts(*ranks)).what.startswith("Rank 1 is late")
    assert (
        find_limit(facts(*ranks, evaluate_s=20.0, steps_per_epoch=20)).what == "Exact inference takes 50% of the time"
    )
