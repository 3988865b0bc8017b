"""A run that is not one: it plays an invented log on a thread, and obeys pause, resume, checkpoint and stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.display import render_run
from workbench.core.events import Event
from workbench.dashboard.panels.progress import STATUS


class FakeRun:
    """What a dashboard needs of a run; `play` tells the events after the first ones, one every `every_s` seconds."""

    def __init__(self, events: Sequence[Event], *, name: str = "debian-sage-7f3a", fail: str = "") -> None:
        self.id = name
        self.events: list[Event] = []
        self.controls: list[tuple[str, str]] = []
        self.fail = fail
        self._script = list(events)
        self._listeners: list[Callable[[list[Event]], None]] = []
        self._lock = threading.Lock()
        self._going, self._stopped = threading.Event(), threading.Event()
        self._going.set()

    @property
    def status(self) -> str:
        return next((STATUS[event.kind] for event in reversed(self.events) if event.kind in STATUS), "pending")

    def subscribe(self, callback: Callable[[list[Event]], None], *, replay: bool = False) -> Callable[[], None]:
        with self._lock:
            if replay and self.events:
                callback(list(self.events))
            self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    def tell(self, count: int = 1) -> None:
        """Tell the next events of the script at once."""
        with self._lock:
            self._publish(self._script[:count])
            del self._script[:count]

    def tell_until(self, kind: str, step: int | None = None) -> None:
        """Tell events up to the first of a kind (and step)."""
        for index, event in enumerate(self._script):
            if event.kind == kind and (step is None or event.data.get("step") == step):
                return self.tell(index + 1)
        raise AssertionError(f"the script has no {kind}")

    def play(self, every_s: float = 0.02, chunk: int = 1) -> None:
        """Tell the rest on a thread."""

        def run() -> None:
            while self._script and not self._stopped.wait(every_s):
                self._going.wait()
                if not self._stopped.is_set():
                    self.tell(chunk)

        threading.Thread(target=run, name="fake-run", daemon=True).start()

    def control(self, kind: str, *, force: bool = False) -> None:
        """Obey, and note on which thread it was heard."""
        if self.fail:
            raise RuntimeError(self.fail)
        self.controls.append((kind, threading.current_thread().name))
        with self._lock:
            step = max((event.data["step"] for event in self.events if event.kind == "step_finished"), default=0)
            if kind == "pause":
                self._going.clear()
                self._say("run_paused", step=step)
            elif kind == "resume":
                self._say("run_resumed", step=step)
                self._going.set()
            elif kind == "stop":
                self._stopped.set()
                self._going.set()
                self._say("run_stopping", by="user")
                self._say("run_stopped", step=step)

    def _say(self, kind: str, **data: Any) -> None:
        last = self.events[-1]
        self._publish([Event(kind=kind, time_s=last.time_s + 0.1, seq=last.seq + 1, data=data)])

    def _publish(self, events: list[Event]) -> None:
        self.events.extend(events)
        for listener in list(self._listeners):
            listener(events)

    def _ipython_display_(self) -> None:
        shown = render_run(self)
        assert shown is not None, "the dashboard registers itself"
        shown._ipython_display_()
