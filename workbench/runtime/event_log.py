"""The log of a run on disk: one line an event, in order, only ever appended; a torn tail is cut when it is opened."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from workbench.core.events import Event, decode_line, decode_log, encode_line, is_whole

PIECE_BYTES = 1 << 22
Read = Callable[[int, int], bytes]


class EventLog:
    """Appends events to a file and gives each its position ``seq``.

    A full disk neither loses an event nor stops a run: lines that could not be written wait in memory and
    go to the file, still in order, with the next append.

    Parameters
    ----------
    path : Path
        The file; it is made when it is missing, for its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.seq, self._size = _end_of(path)
        os.ftruncate(self._fd, self._size)
        self._waiting = b""
        self.last_error = ""

    def append(self, events: Iterable[Event]) -> bytes:
        """Number the events, write them, and return their lines: what a live reader gets is what the file holds."""
        lines = []
        for event in events:
            self.seq += 1
            lines.append(encode_line(dataclasses.replace(event, seq=self.seq)))
        data = b"".join(lines)
        self._waiting += data
        self._flush()
        return data

    @property
    def num_waiting(self) -> int:
        """Return how many bytes the disk has not taken yet."""
        return len(self._waiting)

    def retry(self) -> bool:
        """Try again to write what waits; return whether nothing waits any more."""
        self._flush()
        return not self._waiting

    def _flush(self) -> None:
        try:
            while self._waiting:
                written = os.pwrite(self._fd, self._waiting, self._size)
                self._size += written
                self._waiting = self._waiting[written:]
            self.last_error = ""
        except OSError as error:
            self.last_error = error.strerror or str(error)

    def tail(self, offset: int, max_bytes: int = 1 << 22) -> bytes:
        """Return what follows byte `offset` of the log, also what the disk has not taken yet; at most `max_bytes`."""
        if self._fd < 0:
            return _read_file(self._path, offset, max_bytes)
        self._flush()
        data = os.pread(self._fd, min(max_bytes, max(0, self._size - offset)), offset)
        if offset + len(data) >= self._size and len(data) < max_bytes:
            data += self._waiting[max(0, offset - self._size) :]
        return data

    def close(self) -> None:
        """Write what waits and close the file."""
        if self._fd >= 0:
            self._flush()
            os.close(self._fd)
            self._fd = -1


def log_pieces(source: Path | Read, offset: int = 0) -> Iterator[tuple[list[Event], int]]:
    """Yield the whole events of a log from a byte on, some thousand at a time, each with the byte where it ends.

    Parameters
    ----------
    source : Path or callable
        A log file, also one that is missing; or what returns at most so many bytes from a byte on.
    offset : int
        Where an event begins.
    """
    read = functools.partial(_read_file, source) if isinstance(source, Path) else source
    num_bytes = PIECE_BYTES
    while True:
        data = read(offset, num_bytes)
        events, used = decode_log(data)
        offset += used
        if events:
            yield events, offset
        if len(data) < num_bytes or (used < len(data) and _is_damaged(data[used:])):
            return
        num_bytes = PIECE_BYTES if events else 2 * num_bytes  # one event larger than a piece


def _end_of(path: Path) -> tuple[int, int]:
    """Return the ``seq`` of the last whole event and the byte after it."""
    last, size = b"", 0
    with path.open("rb") as file:
        for line in file:
            if not is_whole(line):
                break
            last, size = line, size + len(line)
    event = decode_line(last)
    return (event.seq if event else 0), size


def _read_file(path: Path, offset: int, num_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(num_bytes)
    except FileNotFoundError:
        return b""


def _is_damaged(rest: bytes) -> bool:
    return b"\n" in rest  # a whole line that is no event


def read_log(path: Path) -> list[Event]:
    """Return the whole events of a log file, up to a torn tail; a missing file has none."""
    return [event for events, _ in log_pieces(path) for event in events]


def scan_log(path: Path, kinds: Iterable[str]) -> Iterator[Event]:
    """Yield the whole events of some kinds, in order, from a log of any length; the others are only checked."""
    kinds = frozenset(kinds)
    marks = [f'"kind":"{kind}"'.encode() for kind in kinds]
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if any(mark in line for mark in marks):
                event = decode_line(line)
                if event is None:
                    return
                if event.kind in kinds:
                    yield event
            elif not is_whole(line):
                return
