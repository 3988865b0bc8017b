"""What the neighbourhood explorer measures for its settings: something at once, then everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.explode import iter_explosion
from workbench.sampling.explosion_estimate import DegreeProfile, estimate_explosion
from workbench.sampling.explosion_record import Explosion
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
        return estimate_explosion(
            self.graph,
            seeds,
            settings.all_fanouts,
            profile=self.profile,
            num_batches=settings.num_batches,
            rng_seed=self.rng_seed,
        )

    def batches(self, settings: Settings, seeds: NDArray[np.int64]) -> Iterator[Explosion]:
        """Yield the means of more and more batches; the last one is of all."""
        return iter_explosion(
            self.graph,
            None if settings.choice == "random" else seeds,
            num_seeds=settings.batch_size,
            fanouts=settings.all_fanouts,
            num_batches=settings.num_batches,
            rng_seed=self.rng_seed,
        )
