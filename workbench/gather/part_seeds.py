"""Seeds that stay with the owner of their part."""

from __future__ import annotations

import functools
from typing import final

import numpy as np
from numpy.typing import NDArray

from workbench.partition.local import open_part
from workbench.sampling.seeds import epoch_order, num_steps, seed_range

Ids = NDArray[np.int64]


@final
class PartSeeds:
    """Each rank's seeds: those of its own part, each once an epoch, in as many batches as the largest part needs.

    A smaller part's seeds are spread over all steps, so that its batches are smaller rather than missing: a rank has
    an empty batch only where it has fewer seeds than there are steps.

    Parameters
    ----------
    folder : str
        What ``Partition.write_parts`` wrote, one part a rank.
    seed_set : str
        ``train_nodes``, ``val_nodes`` or ``test_nodes``.
    batch_size : int
        The most seeds of a rank in a step.
    """

    def __init__(self, folder: str, seed_set: str, *, batch_size: int, world_size: int, rng_seed: int) -> None:
        self._rng_seed, self._own = rng_seed, []
        for rank in range(world_size):
            part = open_part(folder, rank)
            self._own.append(np.asarray(part.node_ids[getattr(part.graph, seed_set)]))
        self.steps_per_epoch = max(num_steps(len(own), batch_size, 1) for own in self._own)
        self._order = functools.lru_cache(maxsize=2)(self._make_order)

    def batch(self, *, epoch: int, step_in_epoch: int, rank: int) -> Ids:
        """Return the seeds of a rank in a step (from 0) of an epoch."""
        steps, own = self.steps_per_epoch, self._own[rank]
        begin, end = seed_range(len(own), steps=steps, world_size=1, step=step_in_epoch, rank=0)
        return self._order(rank, epoch)[begin:end]

    def _make_order(self, rank: int, epoch: int) -> Ids:
        return epoch_order(self._own[rank], rng_seed=self._rng_seed, epoch=epoch)
