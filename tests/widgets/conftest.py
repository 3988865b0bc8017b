"""Widgets without a browser: a channel that keeps what a widget sends, and through which a test speaks as the view."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.graph import Graph
from workbench.widgets import NeighborhoodExplorer
from workbench.widgets.base import WorkbenchWidget

sys.path.insert(0, str(Path(__file__).parent))


class View:
    """The other side of a widget."""

    def __init__(self, widget: WorkbenchWidget) -> None:
        self.widget = widget
        self.sent: list[tuple[dict[str, Any], list[Any]]] = []
        self.states: list[dict[str, Any]] = []
        widget.send = self._take  # type: ignore[method-assign]
        widget.send_state = self._take_state  # type: ignore[method-assign]

    def _take(self, content: dict[str, Any], buffers: list[Any] | None = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def _take_state(self, key: str) -> None:
        self.states.append(self.widget.get_state(key)[key])

    def say(self, kind: str, **fields: Any) -> None:
        """Send a message as the page does."""
        self.widget._receive({"k": kind, "client": "page", "have": 0, **fields}, [])

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the messages of a kind so far."""
        return [content for content, _ in self.sent if content["k"] == kind]

    def wait(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Return the messages of a kind once there are `count`."""
        wait_until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)


def wait_until(condition: Callable[[], Any], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def view_of() -> Callable[[WorkbenchWidget], View]:
    return View


class Explore:
    """Makes neighbourhood explorers, waits for them, and closes them."""

    wait = staticmethod(wait_until)

    def __init__(self) -> None:
        self.made: list[NeighborhoodExplorer] = []

    def __call__(self, graph: Graph, **arguments: Any) -> NeighborhoodExplorer:
        self.made.append(NeighborhoodExplorer(graph, **arguments))
        return self.made[-1]

    def wait_exact(self, explorer: NeighborhoodExplorer) -> None:
        wait_until(lambda: not explorer.result.is_estimate and explorer._is_exact.is_set(), 60)


@pytest.fixture
def explore() -> Iterator[Explore]:
    explore = Explore()
    yield explore
    for explorer in explore.made:
        explorer.close()
