"""The smallest widget that uses everything of the base: a snapshot, deltas, a question with progress, a command."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import Finding, InputError
from workbench.widgets.asks import Progress, answers
from workbench.widgets.base import WorkbenchWidget
from workbench.widgets.commands import command


class Demo(WorkbenchWidget):
    """A growing list of numbers."""

    _esm = Path(__file__).with_name("demo_widget.js").read_text(encoding="utf-8")

    def __init__(self) -> None:
        self.values: list[float] = []
        self.stopped = threading.Event()
        self.commands_on: list[str] = []
        self.cancelled: list[int] = []
        super().__init__(_live=True)

    def snapshot(self) -> Mapping[str, Any]:
        return {"values": np.array(self.values, np.float32)}

    def add(self, value: float) -> bool:
        with self.state_lock:
            self.values.append(value)
            return self.publish({"value": value})

    @answers("sum")
    def _sum(self, progress: Progress, *, n: int) -> Mapping[str, Any]:
        if n < 0:
            raise InputError("sum", [Finding(where="n", expected="n >= 0", got=str(n), fix="ask for 0 or more")])
        for i in range(n if n > 1000 else 0):
            if progress.cancelled:
                self.cancelled.append(n)
            progress.raise_if_cancelled()
            progress.report(i / n, f"{i} of {n}")
            time.sleep(0.001)
        squares = np.arange(n, dtype=np.int64) ** 2
        return {"sum": n * (n - 1) // 2, "squares": squares}

    @command("stop")
    def _stop(self) -> None:
        self.commands_on.append(threading.current_thread().name)
        self.stopped.set()

    def static_html(self) -> str:
        return f"<p class='demo-static'>static: {sum(self.values):g}</p>"

    def text_summary(self) -> str:
        return f"Demo of {len(self.values)} numbers"
