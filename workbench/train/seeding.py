"""Randomness of a rank: a function of what is computed, so that a restarted or resumed run draws the same."""

from __future__ import annotations

import random

import numpy as np
import torch

from workbench.core.rng import torch_seed

_BUILD = 0xB01D  # sets the stream of the first weights apart from the streams of the steps


def seed_build(rng_seed: int) -> None:
    """Seed what the first weights are drawn from: the same on all ranks."""
    _seed_all(torch_seed(rng_seed, _BUILD))


def seed_step(rng_seed: int, epoch: int, step: int, rank: int) -> None:
    """Seed what one step of one rank draws: dropout, and whatever the user's module draws."""
    _seed_all(torch_seed(rng_seed, epoch, step, rank))


def _seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - a user's module may draw from NumPy's global state
