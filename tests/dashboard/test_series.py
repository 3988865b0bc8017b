import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.dashboard.series import FIRST, HIGH, LAST, LOW, MEAN, WEIGHT, Series

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)


def series_of(numbers: list[float], capacity: int = 8) -> Series:
    series = Series(capacity=capacity)
    for step, number in enumerate(numbers, 1):
        series = series.add(step, number)
    return series


@given(values)
def test_extremes_and_the_mean_outlive_every_merge(numbers: list[float]) -> None:
    table = series_of(numbers).table
    assert table[:, LOW].min() == min(numbers)
    assert table[:, HIGH].max() == max(numbers)
    assert table[:, WEIGHT].sum() == len(numbers)
    assert np.isclose(np.average(table[:, MEAN], weights=table[:, WEIGHT]), np.mean(numbers), rtol=1e-9, atol=1e-6)


@given(values)
def test_bins_are_bounded_and_cover_every_step_once(numbers: list[float]) -> None:
    series = series_of(numbers)
    assert len(series) <= 8
    assert series.table[0, FIRST] == 1
    assert series.table[-1, LAST] == len(numbers)
    assert (series.table[1:, FIRST] == series.table[:-1, LAST] + 1).all()


def test_one_spike_in_ten_thousand_steps_is_drawn() -> None:
    numbers = [1.0] * 10_000
    numbers[6_789] = 50.0
    points = series_of(numbers, 256).points()
    assert points.nbytes <= 256 * 16
    row = points[np.argmax(points[:, 3])]
    assert row[3] == 50.0
    assert row[0] - 64 < 6_790 <= row[0]


def test_a_value_may_stand_for_a_range() -> None:
    series = Series().add(1, 2.0, low=1.0, high=9.0)
    assert series.points().tolist() == [[1, 2, 1, 9]]


def test_rewinding_parts_what_counts_from_what_is_run_again() -> None:
    kept, after = series_of([float(n) for n in range(1, 7)]).rewound(4)
    assert kept.table[:, LAST].tolist() == [1, 2, 3, 4]
    assert after.table[:, MEAN].tolist() == [5, 6]
    assert kept.add(5, 50.0).table[-1, MEAN] == 50


def test_adding_leaves_the_series_before_as_it_was() -> None:
    before = series_of([1.0, 2.0])
    before.add(2, 100.0)
    assert before.table[:, HIGH].tolist() == [1, 2]
