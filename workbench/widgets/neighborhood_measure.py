"""What the neighbourhood explorer measures for its settings: something at once, then everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.explode import iter_explosion
from workbench.sampling.explosion_estimate import DegreeProfile, estimate_explosion
from workbench.sampling.explosion_record import Explosion
from workbench.widgets.asks import Ask, AskQueue, Progress
from workbench.widgets.neighborhood_settings import Settings

if TYPE_CHECKING:
    from workbench.graph import Graph

QUICK_EDGES = 2_000_000  # up to here a batch is measured at once; above, it is estimated first


class Measuring:
    """The two ways to the numbers of a graph, with what both need of it.

    Parameters
    ----------
    graph : Graph
    rng_seed : int
        Of the seeds and of the sampling.
    """

    def __init__(self, graph: Graph, rng_seed: int) -> None:
        self.graph, self.rng_seed = graph, rng_seed
        self.profile = DegreeProfile.of(graph) if graph.num_edges > QUICK_EDGES else None

    def at_once(self, settings: Settings, seeds: NDArray[np.int64]) -> Explosion:
        """Return what can be known at once: a measured batch, or the estimate of one where the graph is large."""
        if self.profile is None:
            return next(self.batches(settings, seeds))
        estimate = estimate_explosion(
            self.graph,
            seeds,
            settings.all_fanouts,
            profile=self.profile,
            num_batches=settings.num_batches,
            rng_seed=self.rng_seed,
        )
        return replace(estimate, seeds=settings.describe(self.graph, seeds))

    def batches(
        self, settings: Settings, seeds: NDArray[np.int64], *, cancelled: Callable[[], bool] | None = None
    ) -> Iterator[Explosion]:
        """Yield the means of more and more batches; the last one is of all, or of those before `cancelled` said so."""
        words = settings.describe(self.graph, seeds)
        steps = iter_explosion(
            self.graph,
            None if settings.choice == "random" else seeds,
            num_seeds=settings.batch_size,
            fanouts=settings.all_fanouts,
            num_batches=settings.num_batches,
            rng_seed=self.rng_seed,
            cancelled=cancelled,
        )
        return (replace(result, seeds=words) for result in steps)


class Background:
    """Measures all batches on a thread of its own: a batch of a large graph must not keep an answer waiting.

    Parameters
    ----------
    measuring : Measuring
    take : callable
        ``take(result, settings)``, with the means so far; False ends it.
    finished, failed : callable
        Called once all is measured, or with the error.
    """

    def __init__(
        self,
        measuring: Measuring,
        take: Callable[[Explosion, Settings], bool],
        finished: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._measuring, self._take, self._finished, self._failed = measuring, take, finished, failed
        self._queue = AskQueue(self._measure)
        self._progress = Progress()  # of the newest measurement; cancelled once it has ended
        self._progress.cancel()

    def start(self, settings: Settings, seeds: NDArray[np.int64], *, again: bool) -> None:
        """Measure these; what is under way is left at it, unless it is to begin `again`."""
        if again or self._progress.cancelled:
            self._progress = Progress()
            arguments = {"settings": settings, "seeds": seeds}
            ask = Ask(id="", client="kernel", question="measure", arguments=arguments, progress=self._progress)
            self._queue.put(ask)

    def cancel(self) -> None:
        """Stop after the batch under way."""
        self._progress.cancel()
        self._queue.cancel()

    def _measure(self, ask: Ask) -> None:
        settings, seeds, progress = ask.arguments["settings"], ask.arguments["seeds"], ask.progress
        try:
            for result in self._measuring.batches(settings, seeds, cancelled=lambda: progress.cancelled):
                if not self._take(result, settings) or progress.cancelled:
                    return
            self._finished()
        except Exception as error:
            self._failed(error)
        finally:
            progress.cancel()
