"""The kernel's side of ``run_function``: start, stream what the ranks print, wait, return."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.errors import RunError
from workbench.runtime.follow import events_of
from workbench.runtime.function_call import ENTRY, FUNCTION_FILE, function_config, pack_call, read_results
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_report import failure_text

if TYPE_CHECKING:
    from workbench.runtime.cluster import Cluster
    from workbench.runtime.run import Run

_NEVER_S = 1e8  # a function may be silent as long as it likes
_LIMITS = {"max_restarts": 0, "silent_s": _NEVER_S, "still_s": math.inf}  # nobody said that it may run twice
CHARACTERS_PER_S = 100_000  # shown; Jupyter's own limit is ten times as high
Show = Callable[[str, str], None]


def call_on_ranks(
    cluster: Cluster,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    trainers: int,
    threads_per_trainer: int,
    show: Show | None = None,
) -> list[Any]:
    """Call a function on every rank of a new gang, and return the results in rank order.

    Interrupting stops the ranks. Raises `RunError` with the traceback of the rank that failed first.
    """
    packed = pack_call(function, arguments, keywords)
    name = getattr(function, "__name__", type(function).__name__)
    config = function_config(name, trainers=trainers, threads_per_trainer=threads_per_trainer)
    cluster.scale(trainers=trainers)
    folder = RunFolder.create(config, f"function {name} · {trainers} trainer{'s' * (trainers != 1)}")
    (folder.path / FUNCTION_FILE).write_bytes(packed)
    run = cluster.hand_over(folder, {"limits": _LIMITS, "rank": {"entry": ENTRY}}, "run_function")
    try:
        _follow(run, show or _print)
    except KeyboardInterrupt:
        run.stop(force=True)
        raise
    if run.status != "finished":
        raise RunError(_why(run))
    return read_results(folder.path, trainers)


def _why(run: Run) -> str:
    if run.status == "failed":
        return failure_text(run.id, run.milestones)
    return f"run {run.id}: expected its end; got {run.status} before. Fix: call it again, nobody asked it to go on"


def _follow(run: Run, show: Show) -> None:
    """Show what the ranks print, on this thread (a notebook then puts it under the cell), until the run ends."""
    budget = _Budget(show)
    for event in events_of(run):
        if event.kind == "output_written":
            budget.show(event.rank, event.data["stream"], event.data["text"])


class _Budget:
    """Shows at most so much a second: a loop that prints without end must not choke the notebook."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._second, self._left, self._hidden = 0, CHARACTERS_PER_S, 0

    def show(self, rank: int, stream: str, text: str) -> None:
        if (second := int(time.monotonic())) != self._second:
            if self._hidden:
                self._show("stderr", f"[{self._hidden:,} characters left out; the run's folder has them in logs/]\n")
            self._second, self._left, self._hidden = second, CHARACTERS_PER_S, 0
        if len(text) > self._left:
            self._hidden += len(text)
            return
        self._left -= len(text)
        self._show(stream, "".join(f"[rank {rank}] {line}\n" for line in text.splitlines()))


def _print(stream: str, text: str) -> None:
    target = sys.stderr if stream == "stderr" else sys.stdout
    target.write(text)
    target.flush()
