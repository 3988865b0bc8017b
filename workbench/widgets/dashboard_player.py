"""Playing a run's past: a moment of it is shown, and moves on at a chosen speed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import Findings
from workbench.dashboard import Dashboard
from workbench.dashboard.replay import Past, Reel
from workbench.widgets.dashboard_reading import source_of

USUAL_SPEED = 16.0
SLOWEST, FASTEST = 0.01, 100_000.0
EVENTS_A_TICK = 3000  # some 0.15 s of the kernel's time: a film too fast for that is shown as fast as it can be


ACTIONS = ("open", "play", "pause", "seek", "speed", "live")


def check_action(action: Any) -> None:
    """Refuse what a player does not do."""
    if action not in ACTIONS:
        findings = Findings("play")
        findings.add("action", f"one of {list(ACTIONS)}", repr(action), "send one of these")
        findings.raise_if_any()


def check_speed(speed: Any) -> float:
    """Return a speed as a number; a bad one is an error that says what would do."""
    number = isinstance(speed, (int, float)) and not isinstance(speed, bool)
    if not number or not SLOWEST <= speed <= FASTEST:
        findings = Findings("replay")
        findings.add("speed", f"a number from {SLOWEST} to {FASTEST:,.0f}", repr(speed), "pass speed=10, say")
        findings.raise_if_any()
    return float(speed)


class Player:
    """A film of a run: where it is, how fast it goes, and the dashboard of that moment.

    Parameters
    ----------
    run : Run
    past : Past
        Noted while the run's events were taken in.
    speed : float
        Seconds of the run a second.
    """

    def __init__(self, run: Any, past: Past, speed: float = USUAL_SPEED) -> None:
        self.speed, self.playing = check_speed(speed), False
        self._start_s: float | None = None
        self._events_after = source_of(run)
        self._reel = Reel(past, self._events_after)
        self.position_s = 0.0
        self._clock_s = time.monotonic()

    @property
    def dashboard(self) -> Dashboard:
        """Return the panels at the moment that is shown."""
        return self._reel.dashboard

    @property
    def start_s(self) -> float:
        """Return when the run's first event happened, as Unix time; 0 of an empty log."""
        if self._start_s is None:
            first = next(self._events_after(0), [])
            self._start_s = first[0].time_s if first else None
        return self._start_s or 0.0

    def seek(self, position_s: float, length_s: float) -> None:
        """Show the moment so many seconds after the run's first event."""
        self.position_s = min(max(0.0, float(position_s)), length_s)
        self._reel.seek(self.start_s + self.position_s)
        self._clock_s = time.monotonic()

    def play(self, playing: bool, length_s: float) -> None:
        """Let it run, from the beginning where it is at the end, or stand."""
        if playing and self.position_s >= length_s > 0:
            self.seek(0.0, length_s)
        self.playing, self._clock_s = playing, time.monotonic()

    def tick(self, length_s: float) -> None:
        """Move on by the time that has passed; at the end of what there is it stands."""
        now_s = time.monotonic()
        passed_s, self._clock_s = now_s - self._clock_s, now_s
        if not self.playing:
            return
        wanted_s = min(self.position_s + passed_s * self.speed, length_s)
        if self._reel.advance(self.start_s + wanted_s, EVENTS_A_TICK):
            self.position_s = wanted_s
        else:  # as far as it came
            self.position_s = min(max(self.position_s, self.dashboard.time_s - self.start_s), wanted_s)
        self.playing = self.position_s < length_s

    def facts(self, length_s: float) -> Mapping[str, Any]:
        """Return what the view shows of it."""
        return {
            "mode": "film",
            "position_s": round(self.position_s, 3),
            "length_s": round(length_s, 3),
            "start_s": round(self.start_s, 3),
            "playing": self.playing,
            "speed": self.speed,
        }
