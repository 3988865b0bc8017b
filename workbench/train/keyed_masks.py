"""Random masks as a function of what is masked: the same numbers on any rank, in any order, on any device.

A row has a key (of a node, or of an edge between two nodes); element (row, column) draws 32 bits of
``mix64(key + (column // 2 + 1) * GOLDEN)``, and is dropped where they are below ``p 2^32``. The mixer is SplitMix64's.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.core.jit import kernel
from workbench.core.rng import GOLDEN

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(GOLDEN), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)


def node_keys(salt: int, node_ids: Tensor) -> Tensor:
    """Return (n,) int64 keys of nodes, by their global ids."""
    return _mix(node_ids + 1, _signed(salt))


def edge_keys(salt: int, sources: Tensor, destinations: Tensor) -> Tensor:
    """Return (e,) int64 keys of edges, by the global ids of their ends; parallel edges share theirs."""
    return _mix(destinations + 1, node_keys(salt, sources))


def scaled_mask(keys: Tensor, num_columns: int, p: float, dtype: torch.dtype) -> Tensor:
    """Return (rows, num_columns): 0 with probability p, else ``1 / (1 - p)``, by the key of each row."""
    threshold, scale = min(round(p * 2**32), 2**32), 1.0 / (1.0 - p) if p < 1 else 0.0
    if keys.device.type == "cpu" and dtype in (torch.float32, torch.float64):
        mask = torch.empty(len(keys), num_columns, dtype=dtype)
        _fill(keys.numpy().view(np.uint64), np.uint64(threshold), scale, mask.numpy())
        return mask
    return _mask_on_device(keys, num_columns, threshold).to(dtype) * scale


@kernel
def _fill(keys: NDArray[np.uint64], threshold: np.uint64, scale: float, mask: NDArray[np.floating]) -> None:
    """Write the mask row by row, two columns a word."""
    for row in range(mask.shape[0]):
        for pair in range((mask.shape[1] + 1) // 2):
            word = keys[row] + numba.uint64(pair + 1) * _GOLDEN
            word = (word ^ (word >> numba.uint64(30))) * _MIX_1
            word = (word ^ (word >> numba.uint64(27))) * _MIX_2
            word = word ^ (word >> numba.uint64(31))
            column = 2 * pair
            mask[row, column] = 0.0 if (word & _LOW) < threshold else scale
            if column + 1 < mask.shape[1]:
                mask[row, column + 1] = 0.0 if (word >> numba.uint64(32)) < threshold else scale


def _mask_on_device(keys: Tensor, num_columns: int, threshold: int) -> Tensor:
    """Return the mask as True where an element stays, by tensor operations alone: what the kernel computes."""
    pairs = torch.arange(1, (num_columns + 1) // 2 + 1, device=keys.device)
    words = _mix(pairs.unsqueeze(0), keys.unsqueeze(1))
    draws = torch.stack([words & 0xFFFFFFFF, _shifted(words, 32)], dim=2)
    return draws.reshape(len(keys), -1)[:, :num_columns] >= threshold


def _mix(values: Tensor, start: Tensor | int) -> Tensor:
    """Return SplitMix64's finaliser of ``start + values * GOLDEN``; signed integers wrap around as unsigned ones do."""
    word = start + values * _signed(GOLDEN)
    word = (word ^ _shifted(word, 30)) * _signed(int(_MIX_1))
    word = (word ^ _shifted(word, 27)) * _signed(int(_MIX_2))
    return word ^ _shifted(word, 31)


def _shifted(word: Tensor, bits: int) -> Tensor:
    """Return a shift to the right that brings in zeros, as of an unsigned word."""
    return (word >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
