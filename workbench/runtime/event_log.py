"""The log of a run on disk: one line an event, in order, only ever appended; a torn tail is cut when it is opened."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

from workbench.core.events import Event, decode_log, encode_line


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
        events, self._size = decode_log(path.read_bytes())
        os.ftruncate(self._fd, self._size)
        self.seq = events[-1].seq if events else 0
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

    def _flush(self) -> None:
        try:
            while self._waiting:
                written = os.pwrite(self._fd, self._waiting, self._size)
                self._size += written
                self._waiting = self._waiting[written:]
            self.last_error = ""
        except OSError as error:
            self.last_error = str(error)

    def tail(self, offset: int, max_bytes: int = 1 << 22) -> bytes:
        """Return what follows byte `offset` of the log, also what the disk has not taken yet; at most `max_bytes`."""
        if self._fd < 0:
            with self._path.open("rb") as file:
                file.seek(offset)
                return file.read(max_bytes)
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


def read_log(path: Path) -> list[Event]:
    """Return the whole events of a log file, up to a torn tail; a missing file has none."""
    try:
        return decode_log(path.read_bytes())[0]
    except FileNotFoundError:
        return []
