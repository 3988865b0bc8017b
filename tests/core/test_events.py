import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.events import EVENT_KINDS, TERMINAL_KINDS, Event, decode_line, decode_log, encode_line, of_kind


def make_log(count: int) -> list[Event]:
    return [
        Event(kind="step_finished", time_s=1000.0 + i, seq=i + 1, rank=i % 2, data={"step": i, "loss": 0.5 / (i + 1)})
        for i in range(count)
    ]


def test_a_log_reads_back_as_written():
    events = make_log(5)
    data = b"".join(map(encode_line, events))
    again, used = decode_log(data)
    assert again == events
    assert used == len(data)


@given(cut=st.integers(1, 60))
def test_a_torn_tail_is_cut_and_the_rest_kept(cut):
    events = make_log(4)
    data = b"".join(map(encode_line, events))
    again, used = decode_log(data[:-cut])
    assert again == events[:3]
    assert data[:used] == b"".join(map(encode_line, events[:3]))


def test_a_damaged_byte_is_noticed():
    line = bytearray(encode_line(make_log(1)[0]))
    line[20] ^= 1
    assert decode_line(bytes(line)) is None


def test_a_name_with_a_newline_stays_one_line():
    event = Event(kind="log_written", time_s=0.0, data={"level": "info", "text": "a\nb\u2028c\x85d"})
    line = encode_line(event)
    assert line.count(b"\n") == 1
    assert decode_log(line)[0] == [event]


def test_a_loss_that_is_not_a_number_survives_the_log():
    line = encode_line(Event(kind="step_finished", time_s=0.0, data={"loss": math.nan}))
    event = decode_line(line)
    assert event is not None
    assert math.isnan(event.data["loss"])


def test_events_are_immutable_records():
    event = decode_line(encode_line(make_log(1)[0]))
    assert event is not None
    with pytest.raises(AttributeError):
        event.seq = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        event.data["loss"] = 1  # type: ignore[index]


def test_every_kind_says_what_it_means():
    assert set(TERMINAL_KINDS) <= set(EVENT_KINDS)
    for name, kind in EVENT_KINDS.items():
        assert kind.meaning.endswith("."), name
        assert all(kind.fields.values()), name


def test_of_kind_keeps_the_order():
    events = make_log(3)
    assert list(of_kind(events, "step_finished")) == events
    assert list(of_kind(events, "rank_failed")) == []
