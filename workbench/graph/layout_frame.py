"""The frame of a layout: which components forces place, in which box, and the strip of small ones below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.jit import read_only
from workbench.graph.layout_sketch import components
from workbench.graph.layout_strip import pack_components

MAX_LARGE_COMPONENTS = 12
MARGIN = 0.02
STRIP_LABEL = 0.045  # room for a line of text above the strip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphLayout:
    """Positions of all nodes, and where the strip of small components is.

    Parameters
    ----------
    positions : float32 (n, 2)
        In [0, 1], y upwards.
    strip_y : float
        Everything below belongs to the strip of small components; 0 where there is none.
    num_small_components, num_small_nodes : int
        What the strip holds.
    """

    positions: np.ndarray
    strip_y: float
    num_small_components: int
    num_small_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """What is placed by forces, and what stands in the strip."""

    is_large: np.ndarray
    small: np.ndarray  # component of each node in the strip, from 0 without gaps
    degrees: np.ndarray
    num_large: int
    num_small: int
    strip_y: float

    @classmethod
    def of(cls, starts: np.ndarray, adjacent: np.ndarray) -> Frame:
        num_nodes = len(starts) - 1
        component = np.empty(num_nodes, dtype=np.int64)
        components(read_only(starts), read_only(adjacent), component, np.empty(num_nodes, dtype=np.int64))
        is_large = np.zeros(0, bool)
        if num_nodes:
            is_large = _large_components(np.bincount(component, minlength=1))[component]
        num_large, num_small = int(is_large.sum()), int((~is_large).sum())
        strip_y = (min(0.6, 0.14 + 0.5 * num_small / num_nodes) if num_small else 0.0) if num_large else 1.0
        return cls(
            is_large=is_large,
            small=np.unique(component[~is_large], return_inverse=True)[1],
            degrees=np.diff(starts),
            num_large=num_large,
            num_small=num_small,
            strip_y=strip_y,
        )

    @property
    def bottom(self) -> float:
        """Lower end of the box for the large components."""
        return self.strip_y + MARGIN

    def start(self) -> np.ndarray:
        """Return positions (n, 2) with the strip in place."""
        positions = np.full((len(self.is_large), 2), 0.5)
        if self.num_small:
            height = (self.strip_y - STRIP_LABEL if self.num_large else 1.0) - 2 * MARGIN
            packed = pack_components(self.small, self.degrees[~self.is_large], 1 - 2 * MARGIN, height)
            positions[~self.is_large] = packed + MARGIN
        return positions

    def with_positions(self, positions: np.ndarray) -> GraphLayout:
        return GraphLayout(
            positions=np.clip(positions, 0, 1).astype(np.float32),
            strip_y=self.strip_y if self.num_large else 0.0,
            num_small_components=int(self.small.max(initial=-1)) + 1 if self.num_large else 0,
            num_small_nodes=self.num_small if self.num_large else 0,
        )


def fit(positions: np.ndarray, bottom: float, like: np.ndarray | None = None) -> np.ndarray:
    """Turn the longer axis level, draw in the outskirts, and fill the box above `bottom`.

    With positions `like` which these are to look, they are turned and mirrored as lies nearest to those instead.
    """
    centred = positions.astype(np.float64) - np.median(positions, axis=0)
    if like is None:
        _, axes = np.linalg.eigh(centred.T @ centred)
        axes = axes[:, ::-1] * np.where(axes[:, ::-1].sum(axis=0) < 0, -1.0, 1.0)
    else:
        left, _, right = np.linalg.svd(centred.T @ (like - np.median(like, axis=0)))
        axes = left @ right  # the orthogonal Procrustes problem
    turned = centred @ axes
    radius = np.hypot(*turned.T)
    limit = max(float(np.quantile(radius, 0.97)), 1e-9)
    beyond = np.maximum(radius / limit, 1.0)
    turned *= np.where(beyond > 1, (1 + 0.6 * np.log(beyond)) / beyond, 1.0)[:, None]
    low, high = turned.min(axis=0), turned.max(axis=0)
    box = np.array([1 - 2 * MARGIN, 1 - MARGIN - bottom])
    stretch = box / np.maximum(high - low, 1e-9)
    stretch = np.minimum(stretch, 1.3 * stretch.min())  # fill the box, within reason
    fitted: np.ndarray = (turned - (low + high) / 2) * stretch + np.array([0.5, bottom + box[1] / 2])
    return fitted


def _large_components(sizes: np.ndarray) -> np.ndarray:
    """Say which components forces should place: those not much smaller than the largest, if they are few."""
    is_large = (sizes >= 0.1 * sizes.max()) & (sizes >= 10)
    return is_large if is_large.sum() <= MAX_LARGE_COMPONENTS else np.zeros(len(sizes), dtype=np.bool_)
