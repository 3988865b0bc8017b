"""Which rows a step reads that were sent behind the computation: never older than the bound, whatever is left out."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from workbench.train.lateness import Arrival, LateRows, Schedule


class Message:
    """A message that knows whether somebody waited for it."""

    def __init__(self) -> None:
        self.was_awaited = False

    def wait(self) -> None:
        self.was_awaited = True


class Post:
    """Sends the number of the step as a row."""

    def __init__(self) -> None:
        self.sent: dict[int, Message] = {}

    def read(self, late: LateRows, step: int) -> Arrival | None:
        def start() -> Arrival:
            assert step not in self.sent, "sent once a step"
            self.sent[step] = Message()
            return Arrival(step=step, rows=torch.tensor([float(step)]), pending=self.sent[step])

        return late.choose(step, start)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    bound = draw(st.integers(0, 6))
    return Schedule(bound=bound, refresh_every=draw(st.integers(1, bound + 1)))


@given(schedules(), st.lists(st.booleans(), min_size=1, max_size=40))
def test_no_row_is_read_that_is_older_than_the_bound(schedule: Schedule, takes_place: list[bool]) -> None:
    """Also where a model leaves a call out in some steps; and only at the start is there nothing to read."""
    late, post, first = LateRows(schedule), Post(), 0
    for step, is_called in enumerate(takes_place, start=1):
        if not is_called:
            continue
        chosen = post.read(late, step)
        first = first or (step if step in post.sent else 0)
        if chosen is None:
            assert not first or step - first < schedule.lag
            continue
        assert chosen.rows.item() == chosen.step
        assert 0 <= step - chosen.step <= schedule.bound
        assert len(late.state_dict()["rows"]) <= schedule.bound + 2, "what nobody reads any more is let go of"
    still_kept = late.state_dict()["rows"]
    assert all(message.was_awaited for step, message in post.sent.items() if step not in still_kept)


@given(schedules(), st.integers(1, 30))
def test_a_call_in_every_step_reads_the_newest_that_may_be_read(schedule: Schedule, num_steps: int) -> None:
    late, post = LateRows(schedule), Post()
    for step in range(1, num_steps + 1):
        chosen = post.read(late, step)
        sent = [s for s in range(1, step + 1) if (s - 1) % schedule.refresh_every == 0]
        assert list(post.sent) == sent, "sent every R steps and no oftener"
        old_enough = [s for s in sent if step - s >= schedule.bound - schedule.refresh_every + 1]
        assert (None if chosen is None else chosen.step) == max(old_enough, default=None)


def test_one_step_late_reads_exactly_the_step_before() -> None:
    late, post = LateRows(Schedule(bound=1)), Post()
    read = [post.read(late, step) for step in range(1, 8)]
    assert read[0] is None
    assert [arrival.step for arrival in read[1:] if arrival is not None] == [1, 2, 3, 4, 5, 6]


def test_bound_zero_reads_what_the_step_sends_itself() -> None:
    late, post = LateRows(Schedule(bound=0)), Post()
    assert [arrival.step for step in range(1, 5) if (arrival := post.read(late, step))] == [1, 2, 3, 4]


def test_smoothing_averages_once_a_sending_from_zeros_on() -> None:
    """average <- gamma average + (1 - gamma) received."""
    schedule, gamma = Schedule(bound=2, refresh_every=2), 0.75
    late, post, average, seen = LateRows(schedule, gamma), Post(), 0.0, 0
    for step in range(1, 12):
        chosen = post.read(late, step)
        if chosen is None:
            continue
        if chosen.step != seen:
            average, seen = gamma * average + (1 - gamma) * chosen.step, chosen.step
        assert late.take(chosen).item() == average
    assert seen == 9


@given(schedules(), st.integers(0, 12), st.sampled_from([0.0, 0.5]))
def test_what_is_kept_can_be_put_away_and_back(schedule: Schedule, stop: int, gamma: float) -> None:
    whole, broken, again = LateRows(schedule, gamma), LateRows(schedule, gamma), LateRows(schedule, gamma)
    posts = {0: Post(), 1: Post()}

    def take(late: LateRows, post: Post, step: int) -> float | None:
        chosen = post.read(late, step)
        return None if chosen is None else late.take(chosen).item()

    expected = [take(whole, posts[0], step) for step in range(1, 16)]
    found = [take(broken, posts[1], step) for step in range(1, stop + 1)]
    again.load_state_dict(broken.state_dict(), torch.device("cpu"))
    found += [take(again, posts[1], step) for step in range(stop + 1, 16)]
    assert found == expected
