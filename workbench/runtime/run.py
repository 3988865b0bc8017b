"""A run as a person holds it: what it did so far, what it does now, and the commands it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.config import RunConfig
from workbench.core.control import ControlKind
from workbench.core.display import render_run
from workbench.core.errors import Findings, RunError
from workbench.core.events import Event
from workbench.runtime.ask import ask
from workbench.runtime.event_feed import EventFeed
from workbench.runtime.event_stream import Listener
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_records import Status
from workbench.runtime.run_report import failure_text, history_of, html_of, text_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

STOP_WAIT_S = 5.0


class Run:
    """One run, live through its scheduler or as its folder tells it.

    Parameters
    ----------
    folder : RunFolder
    client : distributed.Client, optional
        Connected to the run's scheduler; None where that is gone: the run then only tells its past.
    trusted : bool
        Whether its ``model.pkl`` may be loaded here: it was written by this process.
    """

    def __init__(self, folder: RunFolder, client: Any | None = None, *, trusted: bool = False) -> None:
        self._folder, self._client, self._trusted = folder, client, trusted
        self._feed = EventFeed(folder, client)

    # ---- what it is

    @property
    def id(self) -> str:
        """Return the run's id: the name of its folder."""
        return self._folder.id

    @property
    def folder(self) -> Path:
        """Return the folder that holds everything of the run."""
        return self._folder.path

    @property
    def config(self) -> RunConfig:
        """Return everything that decides the run's result."""
        return self._folder.config

    @property
    def summary(self) -> str:
        """Return in one line what the run is."""
        return str(self._folder.record["summary"])

    @property
    def status(self) -> str:
        """Return pending, starting, running, paused, restarting, finished, stopped or failed.

        A run whose scheduler is gone and whose log does not tell an end has failed.
        """
        return str(self._feed.status)

    @property
    def events(self) -> list[Event]:
        """Return every event so far, in order.

        Memory keeps the newest thousands of a long run; the others are read from its log again.
        ``subscribe(callback, replay=True)`` brings them piece by piece.
        """
        return self._feed.all()

    @property
    def milestones(self) -> list[Event]:
        """Return the few events that tell how far it came and how it failed: epochs, the start, the last failure."""
        return self._feed.milestones

    @property
    def history(self) -> pd.DataFrame:
        """Return one row an epoch: epoch, step, elapsed_s, train_loss, metrics (NaN where not measured), bytes."""
        return history_of(self.milestones)

    # ---- events

    def subscribe(self, callback: Listener, *, replay: bool = False) -> Callable[[], None]:
        """Call `callback` with each list of new events, in order, on a thread; return what ends that.

        With `replay` all events so far are brought first, in pieces and on this thread: nothing is missed or told
        twice.
        """
        return self._feed.subscribe(callback, replay=replay)

    # ---- commands

    def control(self, kind: ControlKind, *, force: bool = False) -> None:
        """Send a command to the run.

        Raises
        ------
        RunError
            Where the run's cluster is gone.
        """
        if self._feed.has_ended or self._client is None:
            return
        fields = {"run_id": self.id, "kind": kind, "by": "user", "force": force}
        remains = f"The run's folder remains: {self.folder}"
        ask(self._client, "workbench_control", subject=f"run {self.id}", remains=remains, **fields)

    def pause(self) -> Run:
        """Let all ranks stand still after the step at work."""
        self.control("pause")
        return self

    def resume(self) -> Run:
        """Go on after a pause."""
        self.control("resume")
        return self

    def checkpoint(self) -> Run:
        """Write a checkpoint after the step at work."""
        self.control("checkpoint")
        return self

    def stop(self, *, force: bool = False) -> Run:
        """End the run after the step at work, with a checkpoint; wait up to 5 s for it.

        Ranks that do not answer in time are killed; with `force` they are killed at once.
        """
        self.control("stop", force=force)
        self._wait(STOP_WAIT_S)
        return self

    # ---- waiting

    def wait(self, timeout_s: float | None = None) -> Run:
        """Wait for the end; interrupting it lets go of the run and does not stop it.

        Raises
        ------
        TimeoutError
            Where it has not ended after `timeout_s` seconds.
        RunError
            Where it failed: rank, host, cause, traceback and the last lines of its output.
        """
        if not self._wait(timeout_s):
            raise TimeoutError(f"run {self.id} is {self.status} after {timeout_s} s; it goes on")
        return self._checked()

    def __await__(self) -> Generator[Any, None, Run]:
        return self._wait_async().__await__()

    async def _wait_async(self) -> Run:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def look(_: list[Event]) -> None:
            if self.has_ended:
                loop.call_soon_threadsafe(ended.set)

        unsubscribe = self.subscribe(look)
        try:
            if not self.has_ended:
                await ended.wait()
        finally:
            unsubscribe()
        return self._checked()

    @property
    def has_ended(self) -> bool:
        """Say whether nothing more will come of it."""
        return self._feed.has_ended

    def _wait(self, timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._feed.changed:
            while not self.has_ended:
                # A wait in pieces, so that an interrupt is heard on every platform.
                rest = 1.0 if deadline is None else min(1.0, deadline - time.monotonic())
                if rest <= 0:
                    return False
                self._feed.changed.wait(rest)
        return True

    def _checked(self) -> Run:
        if self.status == Status.FAILED:
            raise RunError(failure_text(self.id, self.milestones))
        return self

    # ---- results

    def predictions(self, *, scores: bool = False) -> np.ndarray[Any, Any]:
        """Return what the final model says by exact inference: the class of every node, int64 (num_nodes).

        By the task: labels as booleans (num_nodes, labels), numbers (num_nodes,) or (num_nodes, columns), embeddings
        (num_nodes, width), the class of every graph (num_graphs). With `scores`, return the model's outputs as they
        are, float32 (rows, columns).
        """
        import numpy as np

        from workbench.train import TASKS

        path = self._result("predictions.npy", "predictions")
        outputs: np.ndarray[Any, Any] = np.load(path, mmap_mode=None, allow_pickle=False)
        return outputs if scores or outputs.ndim == 1 else TASKS.from_dict(self.config.task.to_json()).decide(outputs)

    def model(self, *, trust: bool = False) -> Any:
        """Return the trained ``torch.nn.Module``, in evaluation mode.

        A module of the user's is unpickled, which runs code: pass ``trust=True`` where another process launched it.
        """
        from workbench.graph import Graph
        from workbench.train.build import CUSTOM, load_trained

        self._result("model.pt", "model")
        config = self.config
        if config.model.name == CUSTOM and not (trust or self._trusted):
            findings = Findings(f"run {self.id}")
            fix = "run.model(trust=True), where you trust who wrote the folder"
            findings.add("model", "trust=True, as loading it runs code of the folder", "trust=False", fix)
            findings.raise_if_any()
        return load_trained(config, Graph.open(Path(config.graph.folder)), self.folder)

    def _result(self, name: str, what: str) -> Path:
        path = self.folder / name
        if not path.exists():
            raise RunError(f"run {self.id}: it has no {what} yet, it is {self.status}. Fix: run.wait() first")
        return path

    # ---- display

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def _ipython_display_(self) -> None:
        # A dashboard displays itself, so that it can put a picture in its own place when the run has ended.
        shown = render_run(self)
        if shown is None or not hasattr(shown, "_ipython_display_"):
            raise NotImplementedError("IPython then shows the bundle")
        shown._ipython_display_()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        shown = render_run(self)
        if shown is None:
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        return shown._repr_mimebundle_(include=include, exclude=exclude)
