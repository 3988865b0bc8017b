"""A hash of node ids: the same on every machine, without a table."""

from __future__ import annotations

import numpy as np

from workbench.core.rng import GOLDEN, key64


def hash_ids(ids: np.ndarray, rng_seed: int) -> np.ndarray:
    """Return :func:`~workbench.core.rng.key64` of ``(rng_seed, id)`` for each id: uint64, as the input."""
    value = ids + np.uint64((key64(rng_seed) + GOLDEN) & 0xFFFFFFFFFFFFFFFF)  # wraps, as it should
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = value ^ (value >> np.uint64(31))
    return mixed
