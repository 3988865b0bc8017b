"""Small components of a graph, packed in rows: they say nothing about each other, so no force places them."""

from __future__ import annotations

import numpy as np

from workbench.core.jit import kernel, read_only

GOLDEN_ANGLE = 2.399963229728653
GAP = 1.0  # between two components, in units of the distance between two nodes


def pack_components(component: np.ndarray, degrees: np.ndarray, width: float, height: float) -> np.ndarray:
    """Place every component as a small sunflower (its hub in the middle), largest first, row by row from the top.

    Parameters
    ----------
    component : int (n,)
        Component of each node, from 0 without gaps.
    degrees : int (n,)
    width, height : float
        The box to fill; the distance between nodes is the largest with which all fit.

    Returns
    -------
    float64 (n, 2)
        Positions in ``[0, width] x [0, height]``, y upwards.
    """
    sizes = np.bincount(component)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    order = np.lexsort((-degrees, rank[component]))
    sorted_sizes = np.sort(sizes)[::-1]
    starts = np.concatenate([[0], np.cumsum(sorted_sizes)[:-1]])
    slot = np.arange(len(component)) - np.repeat(starts, sorted_sizes)
    radii = np.where(sorted_sizes == 1, 0.0, 0.62 * np.sqrt(sorted_sizes))
    spread, angle = 0.62 * np.sqrt(slot), slot * GOLDEN_ANGLE
    unit, centres = _largest_unit(radii, width, height)
    positions = np.empty((len(component), 2))
    middle = np.repeat(centres, sorted_sizes, axis=0)
    positions[order] = middle + unit * spread[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    positions[:, 1] = height - positions[:, 1]
    return np.clip(positions, 0, [width, height])


def _largest_unit(radii: np.ndarray, width: float, height: float) -> tuple[float, np.ndarray]:
    low, high = 0.0, min(height / (2 * radii[0] + GAP), width / (2 * radii[0] + GAP), 0.02 * max(width, height))
    centres = np.empty((len(radii), 2))
    if _pack_rows(read_only(radii), high, width, centres) <= height:
        return high, centres
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _pack_rows(read_only(radii), middle, width, centres) <= height else (low, middle)
    _pack_rows(read_only(radii), low, width, centres)
    return low, centres


@kernel
def _pack_rows(radii: np.ndarray, unit: float, width: float, centres: np.ndarray) -> float:
    """Fill rows of discs of falling size from the left; return the height that they take."""
    x, y, row_height = 0.0, 0.0, 0.0
    for index in range(len(radii)):
        side = (2 * radii[index] + GAP) * unit
        if x > 0 and x + side > width:
            x, y, row_height = 0.0, y + row_height, 0.0
        row_height = max(row_height, side)
        centres[index, 0] = x + side / 2
        centres[index, 1] = y + row_height / 2
        x += side
    return y + row_height
