"""TrainingDashboard: a run as it goes, with its controls, and as a picture once it has ended."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from workbench.core.control import CONTROL_KINDS
from workbench.core.errors import Findings
from workbench.core.events import TERMINAL_KINDS, Event
from workbench.dashboard import Dashboard
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.commands import command
from workbench.widgets.dashboard_outbox import Outbox
from workbench.widgets.dashboard_static import static_html, text_summary

logger = logging.getLogger(__name__)

TICK_S = 0.25  # at most four messages a second, one for the whole dashboard
LAST_LOOK_S = 1.0  # live views draw the end before the picture replaces them
ENDED = ("finished", "stopped", "failed")


class ShownRun(Protocol):
    """What the dashboard needs of a run."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def events(self) -> Sequence[Event]: ...
    def subscribe(self, callback: Callable[[list[Event]], None]) -> Callable[[], None]: ...
    def control(self, kind: Any, *, force: bool = False) -> None: ...


def facts_of(run: ShownRun) -> dict[str, Any]:
    """Return what the views need of a run beside its events."""
    status = str(run.status)
    return {"name": run.id, "status": status, "control": status not in ENDED}


class TrainingDashboard(WorkbenchWidget):
    """The live dashboard of a run.

    What limits the run and what to do, progress and time left, loss, metrics and throughput, the last steps of every
    rank and sampler, time by phase, bytes by kind, memory, and what happened; pause, checkpoint and stop. It follows
    the run on a thread of its own, sends at most four messages a second, and none while no page looks. When the run
    ends, the displayed views become a picture that a saved notebook keeps.

    Parameters
    ----------
    run : Run
        As ``session.launch`` and ``attach`` return it, live or ended.
    """

    _esm = asset("dashboard.js")

    def __init__(self, run: ShownRun) -> None:
        if not hasattr(run, "subscribe"):
            findings = Findings("TrainingDashboard")
            findings.add("run", "a Run", type(run).__name__, "pass what session.launch or wb.attach returns")
            findings.raise_if_any()
        self.run = run
        self._dashboard = Dashboard()
        self._inbox: deque[list[Event]] = deque()
        self._wake, self._closed = threading.Event(), threading.Event()
        self._unsubscribe = run.subscribe(self._on_events)
        self._dashboard.apply(run.events)
        self._outbox = Outbox(self._dashboard)
        self._run_facts = self._facts()
        self._behind = False  # nobody listened to what happened since
        super().__init__(_live=True)
        if self.ended:
            self._unsubscribe()
        else:
            threading.Thread(target=self._follow, name="workbench-dashboard", daemon=True).start()

    @property
    def ended(self) -> bool:
        """True once the run has ended."""
        return str(self.run.status) in ENDED

    # -- following the run --------------------------------------------------------------------------------------

    def _on_events(self, events: list[Event]) -> None:
        """Take new events on whatever thread brings them: only a note, so that the run's stream never waits."""
        self._inbox.append(events)
        self._wake.set()

    def _follow(self) -> None:
        """Fold events in and tell the views, until the run has ended or the widget is closed."""
        try:
            while not self._closed.is_set():
                self._wake.wait(0.0 if self._outbox.waiting else 2.0)
                self._wake.clear()
                if self.tick() or self.ended:
                    break
                self._closed.wait(TICK_S)
            self._unsubscribe()
            if not self._closed.wait(LAST_LOOK_S):
                self._conclude()
        except Exception:
            logger.exception("the dashboard of run %s stopped following it", self.run.id)

    def _conclude(self) -> None:
        """Leave the picture; a page that was reloaded keeps its view, which no update of its output reaches."""
        with self.state_lock:
            self._outbox.catch_up()
            self.refresh()
        self.freeze()
        _shown.pop(self.run, None)
        if self._display_handles and self.num_pages <= 1:
            self.close()

    def tick(self) -> bool:
        """Fold in what came, and send one message; return whether the run told its end."""
        told_end = False
        with self.state_lock:
            while self._inbox:
                events = self._inbox.popleft()
                self._dashboard.apply(events)
                told_end = told_end or any(event.kind in TERMINAL_KINDS for event in events)
            facts = self._facts()
            if not self.listening:
                self._behind = True
                self.publish({})  # nobody hears it, but the number of the state grows
                return told_end
            change = self._outbox.take()
            body: dict[str, Any] = {} if change is None else {"change": change}
            if facts != self._run_facts:
                body["run"] = facts
            self._run_facts = facts
            if body:
                self.publish(body)
        return told_end

    def _facts(self) -> dict[str, Any]:
        return facts_of(self.run)

    def snapshot(self) -> Mapping[str, Any]:
        """Return every panel's view and what the run is called."""
        if self._behind:
            self._outbox.catch_up()
            self._run_facts, self._behind = self._facts(), False
        return {"view": dict(self._outbox.sent), "run": self._run_facts}

    def close(self) -> None:
        """Stop following the run, and free the widget."""
        if hasattr(self, "_closed"):
            self._closed.set()
            self._wake.set()
            self._unsubscribe()
        super().close()

    # -- commands -----------------------------------------------------------------------------------------------

    @command("control")
    def _control(self, *, kind: str, force: bool = False) -> None:
        if kind not in CONTROL_KINDS:
            findings = Findings("control")
            findings.add("kind", f"one of {list(CONTROL_KINDS)}", repr(kind), "send one of these")
            findings.raise_if_any()
        if force:
            self.run.control(kind, force=True)
        else:
            self.run.control(kind)

    # -- pictures -----------------------------------------------------------------------------------------------

    def _current_view(self) -> Mapping[str, Any]:
        with self.state_lock:
            return self._dashboard.view()

    def static_html(self) -> str:
        """Return the dashboard as HTML and SVG without scripts."""
        return static_html(self._current_view(), self._facts())

    def text_summary(self) -> str:
        """Return the run in a few lines."""
        return text_summary(self._current_view(), self._facts())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the live view with its picture; of an ended run the picture alone, which needs no kernel."""
        if self.ended:
            return dict(self._static_bundle()), {}
        return super()._repr_mimebundle_(**kwargs)


_shown: WeakKeyDictionary[Any, TrainingDashboard] = WeakKeyDictionary()


class RunPicture:
    """An ended run as a picture: it needs neither a kernel nor a page that listens."""

    def __init__(self, run: ShownRun) -> None:
        dashboard = Dashboard()
        dashboard.apply(run.events)
        views, facts = dashboard.view(), facts_of(run)
        self._bundle = {"text/html": static_html(views, facts), "text/plain": text_summary(views, facts)}

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, str]]:
        return self._bundle, {}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._bundle, raw=True)


def dashboard_of(run: ShownRun) -> TrainingDashboard | RunPicture:
    """Return what shows a run: one live dashboard for all its displays while it lives, then a picture."""
    if str(run.status) in ENDED:
        return RunPicture(run)
    known = _shown.get(run)
    if known is None or known.comm is None:
        known = _shown[run] = TrainingDashboard(run)
    return known
