"""Runs beside each other: rows, differences, time to a value, and the Pareto front."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.core.events import Event
from workbench.dashboard.comparison import Comparison, RunRecord, flattened, pareto_front, record_of
from workbench.testing import event_logs
from workbench.testing.event_logs import Scenario


def epoch(number: int, loss: float, seconds: float, *, moved: int = 100, **metrics: float) -> Event:
    data = {
        **{"epoch": number, "step": 10 * number, "elapsed_s": seconds, "train_loss": loss, "metrics": metrics},
        **{"evaluate_s": 0.0, "bytes": {"gather": moved, "all_reduce_modelled": 7}},
    }
    return Event(kind="epoch_finished", time_s=seconds, seq=number, data=data)


def started(metric: str = "accuracy", lower: tuple[str, ...] = ()) -> Event:
    return Event(kind="train_started", time_s=0.0, data={"metric": metric, "lower_is_better": list(lower)})


FAST = [started(), epoch(1, 2.0, 1.0, val_accuracy=0.5), epoch(2, 1.5, 2.0, val_accuracy=0.7)]
GOOD = [started(), *(epoch(n, 2.0 / n, 4.0 * n, moved=50, val_accuracy=0.4 + 0.1 * n) for n in (1, 2, 3, 4))]


@pytest.fixture
def both() -> Comparison:
    config = {"strategy": {"name": "mini_batch", "params": {"batch_size": 512, "fanouts": [15, 10]}}, "lr": 0.003}
    other = {"strategy": {"name": "mini_batch", "params": {"batch_size": 1024, "fanouts": [15, 10]}}, "lr": 0.003}
    return Comparison([record_of("fast", FAST, config=config), record_of("good", GOOD, config=other)])


def test_history_has_a_row_an_epoch_and_bytes_add_up_without_the_modelled_ones(both: Comparison) -> None:
    frame = both.history
    assert frame["run"].tolist() == ["fast"] * 2 + ["good"] * 4
    assert frame["bytes"].tolist() == [100, 200, 50, 100, 150, 200]
    assert both.metrics == ["val_accuracy", "train_loss"]


def test_an_epoch_that_ran_again_counts_once() -> None:
    events = [started(), epoch(1, 2.0, 1.0), epoch(2, 1.9, 2.0), epoch(2, 1.8, 5.0), epoch(3, 1.0, 6.0)]
    rows = record_of("again", events).rows
    assert [(row["epoch"], row["train_loss"], row["bytes"]) for row in rows] == [
        (1, 2.0, 100),
        (2, 1.8, 200),
        (3, 1.0, 300),
    ]


def test_only_settings_that_differ_are_listed(both: Comparison) -> None:
    assert both.differences.to_dict("records") == [{"setting": "strategy.batch_size", "fast": "512", "good": "1024"}]
    assert flattened({"a": {"name": "x", "params": {"b": 1}}, "c": 2}) == {"a": "x", "a.b": 1, "c": 2}
    assert Comparison(both.records[:1]).differences.empty


def test_time_to_a_value_is_that_of_the_first_epoch_that_reaches_it(both: Comparison) -> None:
    found = both.time_to(target=0.6)
    assert found["elapsed_s"].tolist() == [2.0, 8.0]
    assert found["epoch"].tolist() == [2, 2]
    never = both.time_to("val_accuracy", 0.75)
    assert math.isnan(never["elapsed_s"][0])
    assert never["elapsed_s"][1] == 16.0
    assert both.time_to()["elapsed_s"].tolist() == [2.0, 12.0], "by default what every run reaches: 0.7"
    assert both.time_to("train_loss", 1.6)["epoch"].tolist() == [2, 2], "less loss is better"


def test_errors_are_better_when_they_are_less() -> None:
    events = [started("mae", ("mae",)), epoch(1, 1.0, 1.0, val_mae=0.5), epoch(2, 0.9, 2.0, val_mae=0.3)]
    comparison = Comparison([record_of("run", events)])
    assert comparison.is_lower_better("val_mae")
    assert comparison.usual_target("val_mae") == 0.3
    assert comparison.time_to("val_mae", 0.4)["epoch"].tolist() == [2]


def test_pareto_shows_who_is_best_at_what_cost(both: Comparison) -> None:
    third = record_of("bad", [started(), epoch(1, 2.0, 20.0, val_accuracy=0.7)])
    found = Comparison([*both.records, third]).pareto()
    assert found["on_front"].tolist() == [True, True, False]
    assert found["elapsed_s"].tolist() == [2.0, 16.0, 20.0]
    assert both.pareto(cost="bytes")["on_front"].tolist() == [False, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8), st.booleans())
def test_the_front_is_what_no_other_point_dominates(points: list[tuple[int, int]], lower: bool) -> None:
    front = pareto_front(points, lower_is_better=lower)
    assert any(front)
    for (cost, value), on in zip(points, front, strict=True):
        better = [
            (c, v) for c, v in points if c <= cost and (v <= value if lower else v >= value) and (c, v) != (cost, value)
        ]
        assert on == (not better)


def test_runs_that_measured_nothing_yet_have_no_values() -> None:
    comparison = Comparison([RunRecord(id="new"), record_of("fast", FAST)])
    assert comparison.best("val_accuracy")[0] is None
    assert comparison.pareto()["on_front"].tolist() == [False, True]
    assert Comparison([RunRecord(id="new")]).metrics == []
    assert len(Comparison([RunRecord(id="new")]).history) == 0


def test_bad_questions_say_what_would_do(both: Comparison) -> None:
    with pytest.raises(InputError, match="at least one run"):
        Comparison([])
    with pytest.raises(InputError, match="one of \\['val_accuracy', 'train_loss'\\]"):
        both.time_to("val_f1", 0.5)
    with pytest.raises(InputError, match="cost"):
        both.pareto(cost="money")


def test_a_real_looking_log_gives_a_record() -> None:
    record = record_of("run", event_logs.healthy(Scenario(epochs=3)), status="finished")
    assert [row["epoch"] for row in record.rows] == [1, 2, 3]
    assert record.summary.startswith("sage · mini_batch")
    assert flattened(record.config)["strategy.sampler.fanouts"] == [15, 10]
