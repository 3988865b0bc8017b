"""What a dashboard needs of a run, and an ended run as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from workbench.core.events import Event
from workbench.dashboard import Dashboard
from workbench.widgets.dashboard_static import static_html, text_summary

ENDED = ("finished", "stopped", "failed")


class ShownRun(Protocol):
    """What the dashboard needs of a run."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def events(self) -> Sequence[Event]: ...
    def subscribe(self, callback: Callable[[list[Event]], None], *, replay: bool = False) -> Callable[[], None]: ...
    def control(self, kind: Any, *, force: bool = False) -> None: ...


def facts_of(run: ShownRun) -> dict[str, Any]:
    """Return what the views need of a run beside its events."""
    status = str(run.status)
    return {"name": run.id, "status": status, "control": status not in ENDED}


class RunPicture:
    """An ended run as a picture: it needs neither a kernel nor a page that listens."""

    def __init__(self, run: ShownRun) -> None:
        dashboard = Dashboard()
        run.subscribe(dashboard.apply, replay=True)()
        views, facts = dashboard.view(), facts_of(run)
        self._bundle = {"text/html": static_html(views, facts), "text/plain": text_summary(views, facts)}

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, str]]:
        return self._bundle, {}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._bundle, raw=True)
