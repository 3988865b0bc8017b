"""Going to moments of a run's past: the picture there is the one that was shown live."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.events import Event
from workbench.dashboard import Dashboard
from workbench.dashboard.replay import Past, Reel, in_pieces
from workbench.testing import event_log_extras as extras
from workbench.testing import event_logs

LOG = extras.with_staleness(extras.with_cache(event_logs.failure_with_restart()))
BEGIN_S, LENGTH_S = LOG[0].time_s, max(event.time_s for event in LOG) - LOG[0].time_s


def as_json(view: Any) -> str:
    return json.dumps(view, default=lambda v: v.tolist() if isinstance(v, np.ndarray) else dict(v), sort_keys=True)


def live_at(time_s: float) -> str:
    """What a dashboard showed live just before the first event later than a time."""
    dashboard = Dashboard()
    for event in LOG:
        if event.time_s > time_s:
            break
        dashboard.apply([event])
    return as_json(dashboard.view())


def after(seq: int) -> Iterator[list[Event]]:
    return in_pieces(LOG[seq:], 100)


@pytest.fixture(scope="module")
def past() -> Past:
    past, dashboard = Past(capacity=10, stride=16), Dashboard()
    for piece in in_pieces(LOG, 70):
        past.apply(dashboard, piece)
    assert as_json(dashboard.view()) == live_at(np.inf)
    return past


def test_the_moments_kept_are_few_and_evenly_spread(past: Past) -> None:
    assert 5 <= len(past) <= 10
    seqs = [past.before(BEGIN_S + share * LENGTH_S).seq for share in np.linspace(0, 1, 200)]
    assert seqs == sorted(seqs)
    assert max(np.diff(sorted(set(seqs)))) <= len(LOG) / 4


@settings(max_examples=15, deadline=None)
@given(shares=st.lists(st.floats(0, 1.02), min_size=1, max_size=4))
def test_any_moment_is_as_it_was_live_wherever_one_comes_from(shares: list[float], past: Past) -> None:
    reel = Reel(past, after)
    for share in shares:
        reel.seek(BEGIN_S + share * LENGTH_S)
        assert as_json(reel.dashboard.view()) == live_at(BEGIN_S + share * LENGTH_S)


def test_before_the_first_event_nothing_is_shown(past: Past) -> None:
    reel = Reel(past, after)
    reel.seek(BEGIN_S - 1)
    assert as_json(reel.dashboard.view()) == as_json(Dashboard().view())


def test_going_forward_in_small_pieces_gives_the_same(past: Past) -> None:
    reel = Reel(past, after)
    reel.seek(BEGIN_S)
    for share in np.linspace(0, 1, 30):
        while not reel.advance(BEGIN_S + share * LENGTH_S, max_events=33):
            pass
    assert as_json(reel.dashboard.view()) == live_at(np.inf)


def test_a_log_that_grows_is_read_on() -> None:
    told = LOG[:500]
    reel = Reel(Past(), lambda seq: in_pieces(told[seq:]))
    assert reel.advance(np.inf)
    told.extend(LOG[500:])
    assert reel.advance(np.inf)
    assert as_json(reel.dashboard.view()) == live_at(np.inf)
