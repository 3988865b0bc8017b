"""Panels and the dashboard: pure functions of a run's events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from workbench.core.events import Event
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.dashboard.delta import SAME, diff
from workbench.dashboard.steps import StepAssembler, with_completed_steps

State = TypeVar("State")
View = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Params, Generic[State]):
    """One answer about a run: ``reduce`` folds events into a state, ``view`` says what is shown of it.

    A subclass names in ``kinds`` the events that it reads: kinds of ``EVENT_KINDS``, and ``step_completed``, which
    follows the last rank's share of a step and carries a :class:`~workbench.dashboard.steps.StepRecord`. A state is
    immutable and of bounded size, however long the run. A view consists of JSON values and arrays; ``view["line"]``
    is the panel in one line.
    """

    kinds: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def initial(self) -> State:
        """Return the state before the first event."""

    @abstractmethod
    def reduce(self, state: State, event: Event) -> State:
        """Return the state after an event of one of ``kinds``."""

    @abstractmethod
    def view(self, state: State) -> View:
        """Return what is shown."""


PANELS: Registry[Panel[Any]] = Registry(
    "panel",
    Panel,  # type: ignore[type-abstract]
    "workbench.dashboard.panels",
    "workbench.panels",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A dashboard after some events: states are immutable, so that keeping one costs what changed since the last."""

    seq: int
    time_s: float
    states: Mapping[str, Any]
    assembler: StepAssembler


class Dashboard:
    """All panels over one stream of events.

    Parameters
    ----------
    panels : mapping of str to Panel, optional
        By default one of every registered panel.
    """

    def __init__(self, panels: Mapping[str, Panel[Any]] | None = None) -> None:
        self.panels = {entry.name: entry.factory() for entry in PANELS} if panels is None else dict(panels)
        self._states = {name: panel.initial() for name, panel in self.panels.items()}
        self._readers: dict[str, list[str]] = {}
        for name, panel in self.panels.items():
            for kind in panel.kinds:
                self._readers.setdefault(kind, []).append(name)
        self._assembler = StepAssembler()
        self._viewed: dict[str, tuple[Any, View]] = {}  # the state that a panel was viewed at, and its view
        self.seq = 0
        self.time_s = 0.0  # the latest that any event told

    @property
    def moment(self) -> Moment:
        """Return what it needs to go on from here another time."""
        return Moment(seq=self.seq, time_s=self.time_s, states=dict(self._states), assembler=self._assembler)

    def go_to(self, moment: Moment) -> None:
        """Go on from a moment of another dashboard with the same panels."""
        self.seq, self.time_s, self._assembler = moment.seq, moment.time_s, moment.assembler
        self._states = dict(moment.states)

    def apply(self, events: Iterable[Event]) -> int:
        """Fold events in, those that came before left out; return how many were new."""
        fresh = [event for event in events if event.seq == 0 or event.seq > self.seq]
        for event, assembler in with_completed_steps(fresh, self._assembler):
            self._assembler = assembler
            self.seq, self.time_s = max(self.seq, event.seq), max(self.time_s, event.time_s)
            for name in self._readers.get(event.kind, ()):
                self._states[name] = self.panels[name].reduce(self._states[name], event)
        return len(fresh)

    def view(self) -> dict[str, View]:
        """Return what every panel shows, by its name; the view of a state that has not changed is the same object."""
        for name, panel in self.panels.items():
            state, known = self._states[name], self._viewed.get(name)
            if known is None or known[0] is not state:
                self._viewed[name] = state, panel.view(state)
        return {name: view for name, (_, view) in self._viewed.items()}

    def delta(self, since: Mapping[str, View]) -> Any | None:
        """Return the change since an earlier view (for :func:`~workbench.dashboard.delta.patched`), or None."""
        change = diff(since, self.view())
        return None if change is SAME else change
