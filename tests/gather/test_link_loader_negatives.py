"""Negatives: as likely as their weights say, in time, and a function of their key."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from workbench.gather.link_loader_negatives import Negatives
from workbench.gather.loader_draw import DrawKey

NUM_DRAWS = 40_000


def key(batch: int = 0) -> DrawKey:
    return DrawKey(rng_seed=1, epoch=2, batch=batch)


def negatives(
    weight: list[float] | None = None, *, amount: float = 1, node_time: list[float] | None = None
) -> Negatives:
    num_nodes = len(weight or node_time or range(5))
    sums = None if weight is None else np.cumsum(np.array(weight, float))
    return Negatives(
        mode="binary",
        amount=amount,
        num_nodes=num_nodes,
        cumulative={"src": sums, "dst": None},
        node_time=None if node_time is None else np.array(node_time),
        given=None,
    )


def p_value(drawn: np.ndarray, weight: list[float]) -> float:
    expected = np.array(weight) / sum(weight) * len(drawn)
    counts = np.bincount(drawn, minlength=len(weight))
    kept = expected > 0
    assert counts[~kept].sum() == 0
    return float(stats.chisquare(counts[kept], expected[kept]).pvalue)


@pytest.mark.parametrize("weight", [[0, 1, 2, 3], [5, 0, 0, 1], [1, 1, 1, 0]])
def test_nodes_are_drawn_in_proportion_to_their_weights(weight: list[float]) -> None:
    drawn = negatives(weight).draw("src", NUM_DRAWS, None, key())
    assert p_value(drawn, weight) > 1e-4
    perturbed = [value * (1.05 if i % 2 else 0.95) for i, value in enumerate(weight)]
    if len({value / original for value, original in zip(perturbed, weight, strict=True) if original}) > 1:
        assert p_value(drawn, perturbed) < 1e-4


def test_without_weights_nodes_are_equally_likely() -> None:
    drawn = negatives().draw("dst", NUM_DRAWS, None, key())
    assert p_value(drawn, [1] * 5) > 1e-4
    assert p_value(drawn, [1.05, 0.95, 1.05, 0.95, 1]) < 1e-4


def test_draws_are_a_function_of_key_and_end() -> None:
    chosen = negatives()
    first = chosen.draw("src", 100, None, key())
    assert np.array_equal(first, chosen.draw("src", 100, None, key()))
    assert not np.array_equal(first, chosen.draw("src", 100, None, key(batch=1)))
    assert not np.array_equal(first, chosen.draw("dst", 100, None, key()))


def test_no_negative_is_later_than_the_pair_it_stands_against() -> None:
    node_time = [9.0, 0.0, 3.0, 5.0, 9.0]
    pair_time = np.array([0.0, 4.0, 5.0, 10.0])
    drawn = negatives(node_time=node_time, amount=50).draw("dst", 4, pair_time, key())
    assert (np.array(node_time)[drawn] <= np.resize(pair_time, 200)).all()
    assert set(drawn[0::4]) == {1}  # the only node that early
    assert set(drawn[3::4]) == {0, 1, 2, 3, 4}


def test_the_last_node_with_weight_is_the_last_that_can_be_drawn() -> None:
    chosen = negatives([1e-300, 1.0, 0.0])

    class Largest:
        def random(self, num: int) -> np.ndarray:
            return np.full(num, 1.0)  # more than any draw can be

    assert chosen._some("src", 3, Largest()).tolist() == [1, 1, 1]
