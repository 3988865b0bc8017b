"""How well scores tell edges from negatives: area under the ROC curve, and mean reciprocal rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating[Any]]


def auc(positive: Scores, negative: Scores) -> float:
    """Return the share of pairs (positive, negative) in which the positive scores higher; equal scores count half.

    That is the area under the ROC curve, exactly, in O((p + q) log q).
    """
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left").astype(np.float64)
    up_to = np.searchsorted(ordered, positive, side="right").astype(np.float64)
    return float((below + up_to).sum() / (2.0 * len(positive) * len(negative)))


def mean_reciprocal_rank(positive: Scores, negative: Scores, there: NDArray[np.bool_]) -> float:
    """Return the mean of 1 / rank of each positive among its own negatives, those of equal score counted half.

    Parameters
    ----------
    positive : array (k)
    negative : array (k, q)
    there : array, bool (k, q)
        Which negatives exist. A positive without any is left out; at least one has some.
    """
    above = ((negative > positive[:, None]) & there).sum(axis=1)
    equal = ((negative == positive[:, None]) & there).sum(axis=1)
    ranked = there.any(axis=1)
    return float((1.0 / (1 + above + 0.5 * equal))[ranked].mean())
