"""The log of a run as a file that is read from any event on, without holding what lies before or after."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from pathlib import Path

from workbench.core.events import Event, decode_line, decode_log

BLOCK_BYTES = 1 << 20
PIECE_BYTES = 1 << 19  # some thousand events


class EventFile:
    """Finds an event by its position: the event with ``seq`` n is line n of the log.

    Parameters
    ----------
    path : Path
        The log; it may grow, and it may be missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines, self._offsets = [0], [0]  # after so many lines begins the line at this byte

    def after(self, seq: int) -> Iterator[list[Event]]:
        """Yield the events after a position, in order, in pieces, up to the end of the file as it is then."""
        if not self.path.exists():
            return
        num_bytes, offset = PIECE_BYTES, self._offset_of(seq)
        with self.path.open("rb") as file:
            while True:
                file.seek(offset)
                data = file.read(num_bytes)
                events, used = decode_log(data)
                if fresh := [event for event in events if event.seq > seq]:
                    yield fresh
                offset += used
                if len(data) < num_bytes or (not used and b"\n" in data):
                    return  # the end, or a damaged line
                num_bytes = PIECE_BYTES if used else 2 * num_bytes  # one event larger than a piece

    def last(self) -> Event | None:
        """Return the last whole event, or None of an empty log."""
        if not self.path.exists():
            return None
        size, num_bytes = self.path.stat().st_size, 1 << 16
        with self.path.open("rb") as file:
            while size:
                file.seek(max(0, size - num_bytes))
                lines = file.read(num_bytes).splitlines(keepends=True)
                for line in reversed(lines):
                    if (event := decode_line(line)) is not None:
                        return event
                if num_bytes >= size:
                    return None
                num_bytes *= 2
        return None

    def _offset_of(self, seq: int) -> int:
        """Return a byte at which a line begins, at or before that of the event after `seq`."""
        self._count(seq)
        return self._offsets[bisect.bisect_right(self._lines, seq) - 1]

    def _count(self, seq: int) -> None:
        """Count lines, a block at a time, until `seq` or the end; what was counted is not counted again."""
        with self.path.open("rb") as file:
            while self._lines[-1] < seq:
                file.seek(self._offsets[-1])
                block = file.read(BLOCK_BYTES)
                end = block.rfind(b"\n") + 1
                if not end and len(block) == BLOCK_BYTES:  # one line larger than a block
                    block += file.readline()
                    end = len(block) if block.endswith(b"\n") else 0
                if not end:
                    return
                self._lines.append(self._lines[-1] + block.count(b"\n", 0, end))
                self._offsets.append(self._offsets[-1] + end)
