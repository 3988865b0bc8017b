"""Where to draw the nodes of a graph: deterministic, of any size, kept on disk.

The large components are laid out in levels: a hierarchy of ever coarser graphs is built, the coarsest is drawn by
forces from a random start, and each finer level starts where its clusters lie. Small components stand in a strip
below. Coordinates are in [0, 1], y upwards.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from workbench.core.cancel import CancelSignal
from workbench.core.errors import Cancelled
from workbench.core.home import home_folder
from workbench.core.rng import generator
from workbench.graph.layout_forces import refine
from workbench.graph.layout_levels import Level, build_levels
from workbench.graph.layout_strip import pack_components
from workbench.graph.symmetric import symmetric_topology

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

FORMAT_VERSION = 1
MAX_COARSEST = 64
MAX_LARGE_COMPONENTS = 12
MARGIN = 0.02
STRIP_LABEL = 0.045  # room for a line of text above the strip
PROGRESS_SHARE_OF_LEVELS = 0.2

ProgressCallback = Callable[[float, str], None]


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


def layout(
    graph: Graph,
    rng_seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
    cancel: CancelSignal | None = None,
) -> np.ndarray:
    """Return positions to draw a graph at: float32 (n, 2) in [0, 1], y upwards.

    The same graph and `rng_seed` give the same positions; they are kept in the workbench's home.

    Parameters
    ----------
    graph : Graph
    rng_seed : int
    progress : callable, optional
        Is told a fraction in [0, 1] and what is being done.
    cancel : CancelSignal, optional
        A ``threading.Event``: set it to stop with :class:`~workbench.core.errors.Cancelled`.
    """
    return lay_out(graph, rng_seed, progress=progress, cancel=cancel).positions


def lay_out(
    graph: Graph,
    rng_seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
    cancel: CancelSignal | None = None,
) -> GraphLayout:
    """Return what :func:`layout` does, with the strip of small components described; from the cache where it can."""
    path = _cache_path(graph, rng_seed)
    cached = _read(path, graph.num_nodes)
    if cached is None:
        cached = compute_layout(graph, rng_seed, progress=progress, cancel=cancel)
        _write(path, cached)
    if progress is not None:
        progress(1.0, "layout ready")
    return cached


def compute_layout(
    graph: Graph,
    rng_seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
    cancel: CancelSignal | None = None,
) -> GraphLayout:
    """Compute a layout without looking at the cache; O((n + m) log n)."""
    num_nodes = graph.num_nodes
    starts, adjacent, weights = symmetric_topology(graph)
    if weights is None:
        weights = np.ones(len(adjacent), dtype=np.float32)
    matrix = sparse.csr_array((weights.astype(np.float32), adjacent, starts), shape=(num_nodes, num_nodes))
    _, component = csgraph.connected_components(matrix, directed=False)
    is_large = _large_components(np.bincount(component, minlength=1))[component] if num_nodes else np.zeros(0, bool)
    num_large, num_small = int(is_large.sum()), int((~is_large).sum())
    strip_y = (min(0.6, 0.14 + 0.5 * num_small / num_nodes) if num_small else 0.0) if num_large else 1.0
    positions = np.full((num_nodes, 2), 0.5)
    if num_large:
        matrix = matrix[is_large][:, is_large] if num_small else matrix
        placed = _by_forces(matrix, rng_seed, progress, cancel)
        positions[is_large] = _fit(placed, strip_y + MARGIN)
    num_components = 0
    if num_small:
        small = np.unique(component[~is_large], return_inverse=True)[1]
        num_components = int(small.max()) + 1
        height = (strip_y - STRIP_LABEL if num_large else 1.0) - 2 * MARGIN
        packed = pack_components(small, np.diff(starts)[~is_large], 1 - 2 * MARGIN, height)
        positions[~is_large] = packed + MARGIN
    return GraphLayout(
        positions=np.clip(positions, 0, 1).astype(np.float32),
        strip_y=strip_y if num_large else 0.0,
        num_small_components=num_components if num_large else 0,
        num_small_nodes=num_small if num_large else 0,
    )


def _large_components(sizes: np.ndarray) -> np.ndarray:
    """Say which components forces should place: those not much smaller than the largest, if they are few."""
    is_large = (sizes >= 0.1 * sizes.max()) & (sizes >= 10)
    return is_large if is_large.sum() <= MAX_LARGE_COMPONENTS else np.zeros(len(sizes), dtype=np.bool_)


def _by_forces(
    matrix: sparse.csr_array, rng_seed: int, progress: ProgressCallback | None, cancel: CancelSignal | None
) -> np.ndarray:
    tick = _Ticker(progress, cancel)
    matrix.sort_indices()
    topology = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    levels = build_levels(*topology, max_coarsest=MAX_COARSEST, rng_seed=rng_seed)
    tick.plan([level.num_nodes * _num_rounds(level) for level in levels])
    positions = np.zeros((0, 2))
    for depth in range(len(levels) - 1, -1, -1):
        level = levels[depth]
        jitter = generator(rng_seed, depth, 1).random((level.num_nodes, 2)) - 0.5
        if depth == len(levels) - 1:
            start, heat = jitter * np.sqrt(level.num_nodes), np.sqrt(level.num_nodes) / 10
        else:
            growth = np.sqrt(level.num_nodes / len(positions))
            start, heat = positions[level.parent] * growth + jitter, 1.0
        tick.weight = level.num_nodes
        positions = refine(level, start, _num_rounds(level), heat, tick)
    return positions


def _num_rounds(level: Level) -> int:
    """Return how long a level is refined: long where it is cheap."""
    for num_nodes, num_rounds in ((2_000, 200), (20_000, 100), (100_000, 60), (400_000, 40)):
        if level.num_nodes <= num_nodes:
            return num_rounds
    return 25


class _Ticker:
    """Counts rounds: tells the progress, and stops the work when it is cancelled."""

    def __init__(self, progress: ProgressCallback | None, cancel: CancelSignal | None) -> None:
        self.progress, self.cancel = progress, cancel
        self.done, self.total, self.weight, self.told = 0, 1, 0, -1.0

    def plan(self, costs: list[int]) -> None:
        self.total = max(1, sum(costs))
        self._tell(PROGRESS_SHARE_OF_LEVELS)

    def __call__(self) -> None:
        self.done += self.weight
        self._tell(PROGRESS_SHARE_OF_LEVELS + (1 - PROGRESS_SHARE_OF_LEVELS) * self.done / self.total)

    def _tell(self, fraction: float) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("the layout was cancelled")
        if self.progress is not None and fraction - self.told >= 0.01:
            self.told = fraction
            self.progress(fraction, "laying out the graph")


def _fit(positions: np.ndarray, bottom: float) -> np.ndarray:
    """Turn the longer axis level, draw in the outskirts, and fill the box above `bottom`."""
    centred = positions.astype(np.float64) - np.median(positions, axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1] * np.where(axes[:, ::-1].sum(axis=0) < 0, -1.0, 1.0)
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


def _cache_path(graph: Graph, rng_seed: int) -> Path:
    name = f"{graph.fingerprint}-{rng_seed}-v{FORMAT_VERSION}.npz"
    return home_folder("graphs") / "layouts" / name


def _read(path: Path, num_nodes: int) -> GraphLayout | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            positions, facts = stored["positions"], stored["facts"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # never written, or torn: it is made anew
    if positions.shape != (num_nodes, 2):
        return None
    return GraphLayout(
        positions=positions,
        strip_y=float(facts[0]),
        num_small_components=int(facts[1]),
        num_small_nodes=int(facts[2]),
    )


def _write(path: Path, made: GraphLayout) -> None:
    facts = np.array([made.strip_y, made.num_small_components, made.num_small_nodes], dtype=np.float64)
    partial = path.with_name(f".{path.stem}-{os.getpid()}-{threading.get_ident()}")
    with contextlib.suppress(OSError):  # a full or read-only disk costs the cache, not the picture
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, positions=made.positions, facts=facts)
        partial.replace(path)
    partial.unlink(missing_ok=True)


class _CallableModule(ModuleType):
    """``workbench.graph.layout`` is this module or its function, by what was imported first: both can be called."""

    __call__ = staticmethod(layout)


sys.modules[__name__].__class__ = _CallableModule
