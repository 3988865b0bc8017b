"""What a writer is, their registry, and how a run's events reach one."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.core.events import TERMINAL_KINDS, Event
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.dashboard.comparison import flattened
from workbench.dashboard.scalars import Scalar, ScalarStream

logger = logging.getLogger(__name__)


class Destination(Protocol):
    """One run in a tracker, open for writing."""

    def write(self, scalars: Sequence[Scalar]) -> None:
        """Write numbers, in order; steps may come again after a restart."""
        ...

    def close(self, status: str) -> None:
        """End it: ``finished``, ``stopped`` or ``failed``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer(Params):
    """Base of the writers: its fields are its parameters."""

    @abstractmethod
    def open(self, run_id: str, settings: Mapping[str, Any]) -> Destination:
        """Begin a run in the tracker.

        Parameters
        ----------
        run_id : str
        settings : mapping
            The run's configuration, flat: ``{"strategy.batch_size": 1024, ...}``.

        Raises
        ------
        MissingDependencyError
            Where its package is not installed; the error names the extra.
        """


WRITERS: Registry[Writer] = Registry(
    "writer",
    Writer,  # type: ignore[type-abstract]
    "workbench.dashboard.writers",
    "workbench.writers",
)


def send(run: Any, writer: str | Writer, **params: Any) -> Callable[[], None]:
    """Write everything that a run has told to a tracker, and what it tells until it ends.

    Parameters
    ----------
    run : Run
    writer : str or Writer
        ``"tensorboard"``, ``"mlflow"``, ``"wandb"``, or a writer.
    **params
        The writer's, where it is named.

    Returns
    -------
    callable
        Ends the writing before the run has ended.
    """
    chosen = WRITERS.create(writer, **params) if isinstance(writer, str) else writer
    destination = chosen.open(run.id, flattened(run.config.to_json()))
    sink = _Sink(destination)
    unsubscribe = run.subscribe(sink.take, replay=True)

    def end() -> None:
        unsubscribe()
        sink.close("stopped")

    return end


class _Sink:
    """Carries events to a destination; a tracker that fails is left alone, the run goes on."""

    def __init__(self, destination: Destination) -> None:
        self._destination: Destination | None = destination
        self._stream = ScalarStream()

    def take(self, events: list[Event]) -> None:
        if self._destination is None:
            return
        try:
            self._destination.write(list(self._stream.take(events)))
            ended = next((event.kind for event in reversed(events) if event.kind in TERMINAL_KINDS), None)
        except Exception:
            logger.exception("the writer failed and is not written to any more")
            ended = "run_failed"
        if ended is not None:
            self.close(ended.removeprefix("run_"))

    def close(self, status: str) -> None:
        destination, self._destination = self._destination, None
        if destination is not None:
            destination.close(status)
