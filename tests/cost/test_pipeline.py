"""Simulated pipelines give the makespans of the formulas, and the one for which there is none."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.cost import bubble, simulate_layers, simulate_stages

EXAMPLE: dict[str, Any] = {"num_partitions": 3, "num_layers": 2, "graph": 1.0, "neural": 0.87, "nonlinear": 0.55}
TIMES = st.floats(0.01, 10.0)


@pytest.mark.parametrize(
    ("inside", "across", "makespan"),
    [(True, True, 12.32), (False, True, 8.84), (False, False, 6.84), (True, False, 10.58)],
    ids=["both wait", "layers wait", "none waits", "stages wait"],
)
def test_the_example_of_the_paper(inside: bool, across: bool, makespan: float) -> None:
    found = simulate_layers(**EXAMPLE, waits_inside=inside, waits_across=across)
    assert found.makespan == pytest.approx(makespan)
    assert str(found).startswith("simulated makespan")


@given(st.integers(1, 6), st.integers(1, 5), st.lists(TIMES, min_size=3, max_size=3).map(lambda t: sorted(t)[::-1]))
def test_formulas_hold_for_any_times_in_their_order(parts: int, layers: int, times: list[float]) -> None:
    g, n, a = times
    given: dict[str, Any] = {"num_partitions": parts, "num_layers": layers, "graph": g, "neural": n, "nonlinear": a}
    both = simulate_layers(**given).makespan
    layers_wait = simulate_layers(**given, waits_inside=False).makespan
    none = simulate_layers(**given, waits_inside=False, waits_across=False).makespan
    stages_wait = simulate_layers(**given, waits_across=False).makespan
    assert both == pytest.approx(layers * (parts * g + parts * n + a))
    assert layers_wait == pytest.approx(layers * (parts * g + n + a))
    assert none == pytest.approx(layers * (g + n + a) + (parts - 1) * g)
    assert none <= stages_wait + 1e-9
    assert stages_wait <= both + 1e-9


@given(st.lists(TIMES, min_size=1, max_size=6), st.integers(1, 8))
def test_a_classic_pipeline_takes_the_sum_and_the_slowest_stage(times: list[float], num: int) -> None:
    found = simulate_stages(times, num_micro_batches=num)
    assert found.makespan == pytest.approx(sum(times) + (num - 1) * max(times))
    for unit in range(len(times)):
        own = [task for task in found.tasks if task.layer == unit]
        assert all(before.end <= after.start for before, after in pairwise(own))


@given(st.integers(1, 6), st.integers(1, 8))
def test_the_bubble_of_equal_stages(stages: int, num: int) -> None:
    found = simulate_stages([2.0] * stages, num_micro_batches=num)
    assert found.makespan == pytest.approx((stages + num - 1) * 2.0)
    assert found.bubble == pytest.approx(bubble(stages, num))


def test_every_number_out_of_range_is_named() -> None:
    with pytest.raises(InputError) as caught:
        simulate_layers(num_partitions=0, num_layers=1.5, graph=-1.0, neural=float("nan"), nonlinear=0.0)  # type: ignore[arg-type]
    assert {finding.where for finding in caught.value.findings} == {"num_partitions", "num_layers", "graph", "neural"}
    with pytest.raises(InputError, match=r"len\(stage_times\)"):
        simulate_stages([], num_micro_batches=2)
