"""The event log on disk: numbered, whole, cut where it is torn, and complete when the disk was full for a while."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from workbench.core.events import Event, decode_log
from workbench.runtime import event_log
from workbench.runtime.event_log import EventLog, log_pieces, read_log, scan_log


def told(text: str) -> Event:
    return Event(kind="log_written", time_s=1.5, data={"level": "info", "text": text})


def texts(path: Path) -> list[str]:
    return [event.data["text"] for event in read_log(path)]


def test_events_are_numbered_from_one_and_go_on_after_reopening(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.log")
    log.append([told("a"), told("b")])
    log.close()
    again = EventLog(tmp_path / "events.log")
    again.append([told("c")])
    again.close()
    assert [(event.seq, event.data["text"]) for event in read_log(tmp_path / "events.log")] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
    ]


def test_what_append_returns_is_what_the_file_holds(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.log")
    lines = log.append([told("é\n\t")]) + log.append([told("b")])
    assert (tmp_path / "events.log").read_bytes() == lines
    assert [event.seq for event in decode_log(lines)[0]] == [1, 2]
    log.close()


@pytest.mark.parametrize("num_bytes", [1, 5, 20, 60])
def test_a_torn_tail_is_cut_and_written_over(tmp_path: Path, num_bytes: int) -> None:
    path = tmp_path / "events.log"
    log = EventLog(path)
    log.append([told("a"), told("b")])
    log.close()
    path.write_bytes(path.read_bytes()[:-num_bytes])
    assert texts(path) == ["a"]
    log = EventLog(path)
    log.append([told("c")])
    log.close()
    assert [(event.seq, event.data["text"]) for event in read_log(path)] == [(1, "a"), (2, "c")]


def test_a_damaged_line_hides_what_follows_it(tmp_path: Path) -> None:
    path = tmp_path / "events.log"
    log = EventLog(path)
    log.append([told("a"), told("b"), told("c")])
    log.close()
    damaged = path.read_bytes().replace(b'"b"', b'"x"')
    path.write_bytes(damaged)
    assert texts(path) == ["a"]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, pwrite = EventLog(tmp_path / "events.log"), os.pwrite

    def full(fd: int, data: bytes, offset: int) -> int:
        if len(data) < 10:
            raise OSError(errno.ENOSPC, "no space left")
        return pwrite(fd, data[: len(data) // 2], offset)  # half of it still fits

    log.append([told("a")])
    monkeypatch.setattr(os, "pwrite", full)
    lines = log.append([told("b")])
    assert "no space left" in log.last_error
    assert decode_log(lines)[0][0].seq == 2, "readers get it all the same"
    assert [e.seq for e in decode_log(log.tail(0))[0]] == [1, 2]
    monkeypatch.setattr(os, "pwrite", pwrite)
    log.append([told("c")])
    log.close()
    assert texts(tmp_path / "events.log") == ["a", "b", "c"]


def test_the_tail_begins_at_any_byte_also_after_closing(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.log")
    first, second = log.append([told("a")]), log.append([told("b")])
    assert log.tail(0) == first + second
    assert log.tail(len(first)) == second
    assert log.tail(len(first + second)) == b""
    assert log.tail(0, max_bytes=7) == first[:7]
    log.close()
    assert log.tail(len(first)) == second
    log.close()


def test_the_log_is_for_its_owner_alone(tmp_path: Path) -> None:
    EventLog(tmp_path / "events.log").close()
    assert (tmp_path / "events.log").stat().st_mode & 0o777 == 0o600


def test_a_missing_log_has_no_events(tmp_path: Path) -> None:
    empty: list[Any] = read_log(tmp_path / "events.log")
    assert empty == []


@pytest.mark.parametrize("piece_bytes", [1, 100, 1000, 1 << 20])
def test_a_long_log_is_read_in_pieces_of_whole_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(event_log, "PIECE_BYTES", piece_bytes)
    log = EventLog(tmp_path / "events.log")
    log.append([told("x" * 300 * (k % 3)) for k in range(20)])
    log.close()
    pieces = list(log_pieces(tmp_path / "events.log"))
    assert [event.seq for events, _ in pieces for event in events] == list(range(1, 21))
    assert pieces[-1][1] == (tmp_path / "events.log").stat().st_size
    assert [event.seq for events, _ in log_pieces(log.tail, pieces[0][1]) for event in events][-1:] in ([20], [])
    (tmp_path / "events.log").write_bytes((tmp_path / "events.log").read_bytes()[:-1])
    assert len(read_log(tmp_path / "events.log")) == 19


def test_a_scan_gives_the_kinds_that_are_asked_for_up_to_the_first_damage(tmp_path: Path) -> None:
    path = tmp_path / "events.log"
    log = EventLog(path)
    nested = Event(kind="values_logged", time_s=0.0, data={"kind": "log_written"})
    log.append([told("a"), nested, told("b"), nested, told("c")])
    log.close()
    assert [event.seq for event in scan_log(path, ["log_written"])] == [1, 3, 5]
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"x"'))
    assert [event.seq for event in scan_log(path, ["log_written"])] == [1]
    assert list(scan_log(tmp_path / "none", ["log_written"])) == []
