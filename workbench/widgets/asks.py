"""Ask and answer: the view asks a question, one worker thread answers it, the newest ask of a question wins."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import WorkbenchError

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL_S = 0.25


class AskCancelledError(Exception):
    """Raised by :meth:`Progress.raise_if_cancelled`: nobody waits for the answer any more."""


def answers(question: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method as the one that answers `question`: ``method(self, progress, **arguments) -> JSON and arrays``."""

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.answers_question = question  # type: ignore[attr-defined]
        return method

    return mark


class Progress:
    """What a handler is given: it reports how far it is, and learns that nobody waits any more."""

    def __init__(self, send: Callable[[float, str], None] | None = None) -> None:
        self._send = send
        self._event = threading.Event()
        self._last_s = -1e9

    @property
    def cancelled(self) -> bool:
        """True once the ask was cancelled, superseded by a newer one, or its widget closed."""
        return self._event.is_set()

    def cancel(self) -> None:
        self._event.set()

    def raise_if_cancelled(self) -> None:
        """Leave the handler where the ask was cancelled; the view is told that, and nothing else happens."""
        if self.cancelled:
            raise AskCancelledError

    def report(self, fraction: float, text: str = "") -> None:
        """Tell the view that `fraction` (0 to 1) of the work is done; at most 4 messages a second are sent."""
        now = time.monotonic()
        if self._send is None or self.cancelled or (now - self._last_s < PROGRESS_INTERVAL_S and fraction < 1):
            return
        self._last_s = now
        self._send(min(max(float(fraction), 0.0), 1.0), text)


@dataclass(slots=True, kw_only=True)
class Ask:
    """One question that waits for its answer; `context` is the one of the message that brought it.

    An ask replaces the one before of the same client, question and `key`: views of one page that look at different
    things ask by keys of their own, and none takes the answer from another.
    """

    id: str
    client: str
    question: str
    arguments: Mapping[str, Any]
    progress: Progress
    key: str = ""
    context: contextvars.Context = field(default_factory=contextvars.copy_context)

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what two asks have in common of which the newer replaces the older."""
        return self.client, self.question, self.key


class AskQueue:
    """Answers asks one after the other on a thread that lives only while there is something to answer.

    Parameters
    ----------
    answer : callable
        ``answer(ask)``: computes and sends; it must not raise.
    """

    def __init__(self, answer: Callable[[Ask], None]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str, str], Ask] = {}
        self._running: Ask | None = None
        self._thread: threading.Thread | None = None

    def put(self, ask: Ask) -> list[Ask]:
        """Queue an ask; return the waiting ones that it replaces. A running one of the same question is cancelled."""
        with self._lock:
            replaced = self._waiting.pop(ask.place, None)
            self._waiting[ask.place] = ask
            running = self._running
            if running is not None and running.place == ask.place:
                running.progress.cancel()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="workbench-answers", daemon=True)
                self._thread.start()
        return [] if replaced is None else [replaced]

    def cancel(self, ask_id: str | None = None) -> list[Ask]:
        """Cancel one ask, or all; return those that had not begun."""
        with self._lock:
            gone = [ask for ask in self._waiting.values() if ask_id in (None, ask.id)]
            for ask in gone:
                del self._waiting[ask.place]
            if self._running is not None and ask_id in (None, self._running.id):
                self._running.progress.cancel()
        return gone

    def _next(self) -> Ask | None:
        with self._lock:
            self._running = self._waiting.pop(next(iter(self._waiting))) if self._waiting else None
            if self._running is None:
                self._thread = None
            return self._running

    def _run(self) -> None:
        while (ask := self._next()) is not None:
            ask.context.run(self._answer, ask)


def error_text(error: BaseException) -> str:
    """Return what a person should read of an error; unexpected ones are named by their type and logged in full."""
    if isinstance(error, WorkbenchError):
        return str(error)
    logger.error("a widget's handler failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
