"""Randomness as a function of what it is for, never of who computes it.

Every draw is keyed: ``(rng_seed, epoch, batch, hop, node)`` for sampling, ``(rng_seed, epoch, step, rank)``
for a training step. Equal keys give equal bits on any worker, in any order.
The mixer is SplitMix64 (Steele, Lea & Flood 2014), applied once a key.
"""

from __future__ import annotations

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def mix64(value: int) -> int:
    """Return SplitMix64's finaliser of a 64-bit value."""
    value &= _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def key64(*parts: int) -> int:
    """Fold any number of integers into one 64-bit key: ``h = mix64(h + GOLDEN + part)`` for each part in turn."""
    state = 0
    for part in parts:
        state = mix64(state + GOLDEN + (int(part) & _MASK))
    return state


def generator(*parts: int) -> np.random.Generator:
    """Return a NumPy generator for a key; equal keys give equal streams."""
    return np.random.Generator(np.random.Philox(key=[key64(*parts), key64(*parts, 1)]))


def torch_seed(*parts: int) -> int:
    """Return a seed for ``torch.manual_seed`` (63 bits) for a key."""
    return key64(*parts) >> 1
