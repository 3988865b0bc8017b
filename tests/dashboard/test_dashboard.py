"""The dashboard over a stream: in pieces, twice, from the middle, replayed; and never large."""

import json
from typing import Any

import numpy as np
import pytest

from workbench.core.events import EVENT_KINDS, Event, decode_log, encode_line
from workbench.dashboard import PANELS, Dashboard, patched
from workbench.dashboard.steps import STEP_COMPLETED
from workbench.testing import event_logs
from workbench.testing.event_logs import Scenario

FAILURE = event_logs.failure_with_restart()


def as_json(view: Any) -> str:
    def default(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else dict(value)

    return json.dumps(view, default=default, sort_keys=True)


def shown(events: list[Event]) -> dict[str, Any]:
    dashboard = Dashboard()
    dashboard.apply(events)
    return dashboard.view()


def num_bytes(value: Any) -> int:
    return len(as_json(value))


def test_every_panel_reads_kinds_that_exist_and_says_itself_in_one_line() -> None:
    assert {entry.name for entry in PANELS} == {
        *("progress", "loss", "metrics", "throughput", "phases", "cache", "staleness", "stragglers"),
        *("gantt", "traffic", "memory", "log", "verdict"),
    }
    for name, view in shown(FAILURE).items():
        assert Dashboard().panels[name].kinds <= set(EVENT_KINDS) | {STEP_COMPLETED}
        assert 0 < len(view["line"]) < 120


@pytest.mark.parametrize("size", [1, 7, 100])
def test_events_in_pieces_give_the_same_as_all_at_once(size: int) -> None:
    dashboard = Dashboard()
    for start in range(0, len(FAILURE), size):
        dashboard.apply(FAILURE[start : start + size])
    assert as_json(dashboard.view()) == as_json(shown(FAILURE))


def test_events_that_come_again_change_nothing() -> None:
    dashboard = Dashboard()
    assert dashboard.apply(FAILURE[:300]) == 300
    assert dashboard.apply(FAILURE[200:400]) == 100
    dashboard.apply(FAILURE)
    assert as_json(dashboard.view()) == as_json(shown(FAILURE))


def test_reading_a_log_from_disk_gives_the_same_view() -> None:
    events, _ = decode_log(b"".join(encode_line(event) for event in FAILURE))
    assert as_json(shown(events)) == as_json(shown(FAILURE))


def test_every_prefix_of_a_log_has_a_view() -> None:
    dashboard = Dashboard()
    for event in event_logs.failure_with_restart(until="lost"):
        dashboard.apply([event])
        assert dashboard.view()


def test_only_panels_that_changed_are_viewed_again() -> None:
    dashboard = Dashboard()
    dashboard.apply(FAILURE[:300])
    before = dashboard.view()
    told = next(event for event in FAILURE[300:] if event.kind == "resources_measured")
    dashboard.apply([told])
    now = dashboard.view()
    kept = {name for name in now if now[name] is before[name]}
    assert {"loss", "metrics", "throughput", "traffic", "cache"} <= kept
    assert {"memory", "progress"}.isdisjoint(kept)
    fresh = Dashboard()
    fresh.go_to(dashboard.moment)
    assert as_json(fresh.view()) == as_json(now)


def test_changes_add_up_to_the_view() -> None:
    dashboard = Dashboard()
    view: Any = dashboard.view()
    for start in range(0, len(FAILURE), 37):
        dashboard.apply(FAILURE[start : start + 37])
        view = patched(view, dashboard.delta(view))
        assert as_json(view) == as_json(dashboard.view())
    assert dashboard.delta(view) is None


def test_reducing_leaves_earlier_states_as_they_were() -> None:
    panels = Dashboard().panels
    for name, panel in panels.items():
        state = panel.initial()
        before = as_json(panel.view(state))
        for event in FAILURE:
            if event.kind in panel.kinds:
                panel.reduce(state, event)
        assert as_json(panel.view(state)) == before, name


@pytest.mark.slow
def test_a_run_of_ten_thousand_steps_stays_small() -> None:
    dashboard = Dashboard()
    dashboard.apply(
        event_logs.healthy(Scenario(trainers=1, samplers=1, epochs=100, steps_per_epoch=100, spike_step=4321))
    )
    view = dashboard.view()
    assert num_bytes(view) < 100_000
    assert view["progress"]["step"] == 10_000
    assert view["loss"]["points"][:, 3].max() == 50.0, "a spike of one step in ten thousand is still drawn"


def test_names_from_outside_stay_text() -> None:
    bad = "<img src=x onerror=alert(1)>"
    events = event_logs.healthy(last_step=2)
    told = Event(kind="log_written", time_s=events[-1].time_s, data={"level": "warning", "text": bad})
    assert any(entry["text"] == bad for entry in shown([*events, told])["log"]["entries"].values())
