"""TrainingDashboard: a run as it goes, with its controls, and as a picture once it has ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from workbench.core.control import CONTROL_KINDS
from workbench.core.errors import Findings
from workbench.core.events import TERMINAL_KINDS, Event
from workbench.dashboard import Dashboard
from workbench.dashboard.replay import Past, in_pieces
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.commands import command
from workbench.widgets.dashboard_layout import check_layout
from workbench.widgets.dashboard_outbox import Outbox
from workbench.widgets.dashboard_player import USUAL_SPEED, Player, check_action, check_speed
from workbench.widgets.dashboard_reading import Reading, run_of
from workbench.widgets.dashboard_run import ENDED, RunPicture, ShownRun, facts_of
from workbench.widgets.dashboard_static import static_html, text_summary

logger = logging.getLogger(__name__)

TICK_S = 0.25  # at most four messages a second, one for the whole dashboard
LOOKS_AFTER_END = 4  # a run's status may be known before the event that tells it; and one without scheduler tells none
LAST_LOOK_S = 1.0  # live views draw the end before the picture replaces them
READ_AT_ONCE_S = 2.0  # a longer log is read on while its beginning is shown


class TrainingDashboard(WorkbenchWidget):
    """A run's dashboard, live and looking back.

    What limits the run and what to do, progress and time left, loss, metrics and throughput, the last steps of every
    rank and sampler, time by phase, bytes by kind beside their prediction, caches, staleness, stragglers, memory, and
    what happened; pause, checkpoint and stop. Panels are chosen and arranged in the view. It follows the run on a
    thread of its own, sends at most four messages a second, and none while no page looks. When the run ends, the
    displayed views become a picture that a saved notebook keeps.

    The dashboard of a run that has ended shows any moment of it: a slider chooses, and the past is played at a chosen
    speed. Of a run at work "Look back" does the same.

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
        self.layout_chosen: Mapping[str, Any] = {}
        self._dashboard, self._past = Dashboard(), Past()
        self._player: Player | None = None
        self._reading = Reading(run)
        self._wake, self._closed = threading.Event(), threading.Event()
        self._outbox = Outbox(self._dashboard)
        self._run_facts: dict[str, Any] = {}
        self._behind = True  # nobody listened to what happened since
        self._is_past = self.ended  # of a run that was over already: a film, not a picture
        super().__init__(_live=True)
        threading.Thread(target=self._follow, name="workbench-dashboard", daemon=True).start()
        self._reading.done.wait(READ_AT_ONCE_S)

    @classmethod
    def replay(cls, run: ShownRun | str | Path, *, speed: float = USUAL_SPEED) -> TrainingDashboard:
        """Return a dashboard that plays a run from its beginning, as it was seen then.

        Parameters
        ----------
        run : Run, str or Path
            A run, its id, or its folder, wherever that was copied.
        speed : float
            Seconds of the run a second.

        Raises
        ------
        InputError
            Where there is no such run, or the speed is out of range.
        """
        check_speed(speed)
        dashboard = cls(run_of(run))
        with dashboard.state_lock:
            player = dashboard._open_player(0.0)
            player.speed = speed
            player.seek(0.0, dashboard._length_s())
        dashboard._play("play")
        return dashboard

    @property
    def ended(self) -> bool:
        """True once the run has ended."""
        return str(self.run.status) in ENDED

    # -- following the run --------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Read what happened, fold in what happens and tell the views, until the run ends or the widget is closed."""
        try:
            self._reading.start(self._fold, self._wake.set)
            self.tick()
            if self._is_past and self._player is None:
                self._open_player(self._known_s())
            else:
                self.refresh()  # a page that opens while a cell blocks the kernel asks in vain: it has this already
            self._reading.done.set()
            looks_left = LOOKS_AFTER_END
            while not self._closed.is_set() and not self._is_past and looks_left:
                self._wake.wait(0.0 if self._outbox.waiting or self.ended else 2.0)
                self._wake.clear()
                if self.tick():
                    break
                looks_left -= int(self.ended)
                self._closed.wait(TICK_S)
            self._reading.stop()
            if not self._is_past and not self._closed.wait(LAST_LOOK_S) and self._player is None:
                self._conclude()
        except Exception:
            logger.exception("the dashboard of run %s stopped following it", self.run.id)
        finally:
            self._reading.done.set()

    def _fold(self, events: list[Event]) -> None:
        """Take events in, a few at a time, so that a page that asks meanwhile is answered."""
        for piece in in_pieces(events, 512):
            with self.state_lock:
                self._past.apply(self._dashboard, piece)
            if self._closed.is_set():
                return

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
        events = self._reading.take()
        self._fold(events)
        told_end = any(event.kind in TERMINAL_KINDS for event in events)
        with self.state_lock:
            if self._player is not None:
                self._player.tick(self._length_s())
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
        facts = facts_of(self.run)
        if self._player is None:
            return {**facts, "player": {"mode": "live", "can_look_back": True}}
        status = self._player.dashboard.view()["progress"]["status"]
        player = {**self._player.facts(self._length_s()), "can_return": not self._is_past, "read": self._reading.share}
        return {**facts, "status": status, "control": False, "player": player}

    def snapshot(self) -> Mapping[str, Any]:
        """Return every panel's view, what the run is called, and how the panels are arranged."""
        if self._behind:
            self._outbox.catch_up()
            self._run_facts, self._behind = self._facts(), False
        return {"view": dict(self._outbox.sent), "run": self._run_facts, "layout": dict(self.layout_chosen)}

    # -- the past -----------------------------------------------------------------------------------------------

    def _length_s(self) -> float:
        return self._reading.length_s(self._dashboard.time_s)

    def _known_s(self) -> float:
        """Return the seconds to the last event that was taken in: a moment after it is not known yet."""
        return max(0.0, self._dashboard.time_s - self._reading.first_s)

    def _open_player(self, position_s: float) -> Player:
        with self.state_lock:
            if self._player is None:
                self._player = Player(self.run, self._past)
                self._player.seek(position_s, self._length_s())
                self._show(self._player.dashboard)
        return self._player

    def _show(self, dashboard: Dashboard) -> None:
        """Let all views show another moment, as a whole."""
        self._outbox.show(dashboard)
        self._behind = True
        self.refresh()

    @command("play")
    def _play(self, action: str, position_s: float = 0.0, speed: float = USUAL_SPEED) -> None:
        check_action(action)
        if action == "live":
            self._return_to_live()
            return
        player = self._open_player(self._known_s())
        with self.state_lock:
            if action == "seek":
                player.seek(min(position_s, self._known_s()), self._length_s())
                self._show(player.dashboard)
            elif action == "speed":
                player.speed = check_speed(speed)
            elif action in ("play", "pause"):
                player.play(action == "play", self._length_s())
            self._wake.set()
        self.tick()
        if action == "play":
            threading.Thread(target=self._run_film, args=(player,), name="workbench-replay", daemon=True).start()

    def _return_to_live(self) -> None:
        with self.state_lock:
            if self._is_past:
                return
            self._player = None
            self._show(self._dashboard)
        if self.ended:
            self._conclude()

    def _run_film(self, player: Player) -> None:
        """Move a film on while it plays; a newer thread of the same film ends this one's turn at its next look."""
        self._film_thread = threading.current_thread()
        while self._player is player and player.playing and self._film_thread is threading.current_thread():
            if self._closed.wait(TICK_S):
                return
            self.tick()
        while self._outbox.waiting and not self._closed.wait(TICK_S):
            self.tick()

    def close(self) -> None:
        """Stop following the run, and free the widget."""
        if hasattr(self, "_closed"):
            self._closed.set()
            self._wake.set()
            self._reading.stop()
        super().close()

    @command("arrange")
    def _arrange(self, *, layout: Mapping[str, Any]) -> None:
        with self.state_lock:
            self.layout_chosen = check_layout(layout, self._dashboard.panels)
            self.publish({"layout": dict(self.layout_chosen)})

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

    def static_html(self) -> str:
        """Return the dashboard as HTML and SVG without scripts."""
        with self.state_lock:
            return static_html(self._dashboard.view(), facts_of(self.run), self.layout_chosen)

    def text_summary(self) -> str:
        """Return the run in a few lines."""
        with self.state_lock:
            return text_summary(self._dashboard.view(), facts_of(self.run))

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the live view with its picture; of an ended run the picture alone, which needs no kernel."""
        if self.ended and not self._is_past and self._player is None:
            return dict(self._static_bundle()), {}
        return super()._repr_mimebundle_(**kwargs)


_shown: WeakKeyDictionary[Any, TrainingDashboard] = WeakKeyDictionary()


def dashboard_of(run: ShownRun) -> TrainingDashboard | RunPicture:
    """Return what shows a run: one live dashboard for all its displays while it lives, then a picture."""
    if str(run.status) in ENDED:
        return RunPicture(run)
    known = _shown.get(run)
    if known is None or known.comm is None:
        known = _shown[run] = TrainingDashboard(run)
    return known
