"""Part numbers that mean the same in two partitions."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def match_parts(reference: np.ndarray, other: np.ndarray, num_parts: int) -> np.ndarray:
    """Return the number that each part of `other` gets so that it overlaps `reference` most.

    Parameters
    ----------
    reference, other : int32 (n,)
        Two assignments with values in [0, num_parts).
    num_parts : int
        The larger of the two numbers of parts.

    Returns
    -------
    int32 (num_parts,)
        A permutation: ``match_parts(a, b, k)[b]`` is `b` with its parts renumbered. It maximises the number of nodes
        that have the same part in both (Hungarian method, O(k^3)).
    """
    cells = reference.astype(np.int64) * num_parts + other
    overlap = np.bincount(cells, minlength=num_parts * num_parts).reshape(num_parts, num_parts)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    permutation = np.empty(num_parts, dtype=np.int32)
    permutation[columns] = rows
    return permutation
