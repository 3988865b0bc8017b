"""What one message of the dashboard carries: never much, the urgent first, and everything in a few ticks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.dashboard import Dashboard
from workbench.dashboard.delta import SAME, diff
from workbench.widgets.transport import encode

BUDGET_BYTES = 8_000
URGENT = ("progress", "verdict")


def size_of(value: Any) -> int:
    """Return the bytes that a value takes on its way to the browser."""
    content, buffers = encode(value)
    return len(json.dumps(content, separators=(",", ":"))) + sum(buffer.nbytes for buffer in buffers)


class Outbox:
    """Keeps what the views have, and gives out what changed, a budget at a time.

    Parameters
    ----------
    dashboard : Dashboard
    budget_bytes : int
        Of one message; a single panel that changed by more goes out alone.
    """

    def __init__(self, dashboard: Dashboard, budget_bytes: int = BUDGET_BYTES) -> None:
        self._dashboard, self._budget = dashboard, budget_bytes
        self.sent: dict[str, Mapping[str, Any]] = dashboard.view()
        self._postponed: list[str] = []

    @property
    def waiting(self) -> bool:
        """True where the last message could not carry everything."""
        return bool(self._postponed)

    def show(self, dashboard: Dashboard) -> None:
        """Give out from now on what changes towards another dashboard."""
        self._dashboard = dashboard

    def take(self) -> dict[str, Any] | None:
        """Return the next change of what the views have, or None where nothing changed."""
        now = self._dashboard.view()
        order = dict.fromkeys([*URGENT, *self._postponed, *now])
        merge: dict[str, Any] = {}
        self._postponed, taken = [], 0
        for name in (name for name in order if name in now):
            change = diff(self.sent[name], now[name])
            if change is SAME:
                continue
            size = size_of(change)
            if merge and taken + size > self._budget:
                self._postponed.append(name)
                continue
            merge[name], taken = change, taken + size
            self.sent[name] = now[name]
        return {"$merge": merge} if merge else None

    def catch_up(self) -> None:
        """Note that the views are about to get everything, as a snapshot."""
        self.sent, self._postponed = self._dashboard.view(), []
