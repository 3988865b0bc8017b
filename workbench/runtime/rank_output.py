"""What the user's code prints on a rank: to the rank's log file as ever, and told in events for whoever watches."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

MAX_CHARACTERS = 20_000  # told of one stream between two flushes of the link (50 ms); the log file has all of it


class ToldStream(io.TextIOBase):
    """A text stream that writes through to another and keeps a copy until it is drained.

    Parameters
    ----------
    stream : text stream
        Where everything goes.
    name : str
        ``stdout`` or ``stderr``.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._pieces: list[str] = []
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        self._stream.write(text)
        with self._lock:
            self._pieces.append(text)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def drain(self, emit: Callable[..., None], *, is_last: bool = False) -> None:
        """Tell the whole lines since the last call; at the end the unfinished one too."""
        with self._lock:
            text = "".join(self._pieces)
            whole = text if is_last else text[: text.rfind("\n") + 1]
            self._pieces = [text[len(whole) :]] if len(text) > len(whole) else []
        if len(whole) > MAX_CHARACTERS:
            left_out = len(whole) - MAX_CHARACTERS
            whole = f"{whole[:MAX_CHARACTERS]}\n[{left_out:,} characters left out here; the rank's log file has them]\n"
        if whole:
            emit("output_written", stream=self._name, text=whole)


def tell_output(link: Any) -> Callable[[], None]:
    """Let what is printed from now on be told over a rank's link; return what tells the rest and ends that."""
    plain = sys.stdout, sys.stderr
    told = ToldStream(sys.stdout, "stdout"), ToldStream(sys.stderr, "stderr")
    sys.stdout, sys.stderr = told

    def drain() -> None:
        for stream in told:
            stream.drain(link.emit)

    link.before_flush = drain

    def end() -> None:
        link.before_flush = None
        sys.stdout, sys.stderr = plain
        for stream in told:
            stream.drain(link.emit, is_last=True)

    return end
