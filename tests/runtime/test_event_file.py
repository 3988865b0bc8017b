"""A log read from any event on."""

from pathlib import Path

import pytest

from workbench.core.events import Event, encode_line
from workbench.runtime import event_file
from workbench.runtime.event_file import EventFile


def told(first: int, last: int, size: int = 10) -> list[Event]:
    return [
        Event(kind="log_written", time_s=float(n), seq=n, data={"text": "x" * size}) for n in range(first, last + 1)
    ]


def write(path: Path, events: list[Event], mode: str = "wb") -> None:
    with path.open(mode) as file:
        file.write(b"".join(map(encode_line, events)))


@pytest.fixture(params=[64, 1000, 1 << 20])
def log(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EventFile:
    """Blocks and pieces smaller than a line, of some lines, and larger than the file."""
    monkeypatch.setattr(event_file, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(event_file, "PIECE_BYTES", request.param)
    write(tmp_path / "events.log", told(1, 300))
    return EventFile(tmp_path / "events.log")


def flat(file: EventFile, seq: int) -> list[Event]:
    return [event for piece in file.after(seq) for event in piece]


def test_events_after_any_position(log: EventFile) -> None:
    for seq in (250, 0, 1, 299, 300, 17, 1000):
        assert [event.seq for event in flat(log, seq)] == list(range(seq + 1, 301))
    last = log.last()
    assert last is not None
    assert last.seq == 300


def test_a_log_that_grows_and_one_with_a_large_event(log: EventFile) -> None:
    assert len(flat(log, 290)) == 10
    write(log.path, told(301, 301, size=5000) + told(302, 310), "ab")
    assert [event.seq for event in flat(log, 299)] == list(range(300, 311))
    assert log.last() == told(310, 310)[0]


def test_a_torn_tail_is_left_out(log: EventFile) -> None:
    with log.path.open("ab") as file:
        file.write(encode_line(told(301, 301)[0])[:-5])
    assert flat(log, 298)[-1].seq == 300
    last = log.last()
    assert last is not None
    assert last.seq == 300


def test_no_log_has_no_events(tmp_path: Path) -> None:
    missing = EventFile(tmp_path / "none.log")
    assert list(missing.after(0)) == []
    assert missing.last() is None
    (tmp_path / "none.log").touch()
    assert list(missing.after(0)) == []
    assert missing.last() is None
