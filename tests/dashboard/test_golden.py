"""What every panel shows of invented runs, kept as text: a change of a reducer shows as a change of a golden file.

``WORKBENCH_UPDATE_GOLDEN=1 pytest tests/dashboard/test_golden.py`` writes them anew.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.events import Event
from workbench.dashboard import Dashboard
from workbench.testing import event_logs

GOLDEN = Path(__file__).parent / "golden"
LOGS: dict[str, Callable[[], list[Event]]] = {
    "starting": lambda: event_logs.healthy(last_step=1)[:3],
    "healthy": lambda: event_logs.healthy(last_step=92),
    "straggler": event_logs.straggler,
    "restarting": lambda: event_logs.failure_with_restart(until="lost"),
    "restarted": event_logs.failure_with_restart,
    "stopped": event_logs.stopped,
    "failed": event_logs.failed,
}


def plain(value: Any) -> Any:
    """Return a view as JSON with five digits: what a person could see a difference of."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(row) for row in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", LOGS)
def test_views_are_those_of_the_golden_file(name: str) -> None:
    dashboard = Dashboard()
    dashboard.apply(LOGS[name]())
    shown = plain(dashboard.view())
    file = GOLDEN / f"{name}.json"
    if os.environ.get("WORKBENCH_UPDATE_GOLDEN"):
        file.write_text(json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert shown.keys() == expected.keys()
    for panel, view in shown.items():
        assert json.loads(json.dumps(view)) == expected[panel], panel
