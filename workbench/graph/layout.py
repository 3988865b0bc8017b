"""Where to draw the nodes of a graph: deterministic, of any size, kept on disk.

The large components are laid out in levels: a hierarchy of ever coarser graphs is built, the coarsest is drawn by
forces, and each finer level starts where its clusters lie. Of a large graph there is a sketch first, after a second or
two, and the layout starts from it and keeps its orientation. Small components stand in a strip below. Coordinates are
in [0, 1], y upwards.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from workbench.core.cancel import CancelSignal
from workbench.core.errors import Cancelled
from workbench.core.home import home_folder
from workbench.core.rng import generator
from workbench.graph.layout_forces import refine
from workbench.graph.layout_frame import Frame, GraphLayout, fit
from workbench.graph.layout_levels import Level, build_levels
from workbench.graph.layout_sketch import sketch
from workbench.graph.symmetric import symmetric_topology

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

FORMAT_VERSION = 2
MAX_COARSEST = 64
SKETCH_FROM = 100_000  # nodes; a smaller graph is laid out as soon as sketched
PROGRESS_SHARE_OF_LEVELS = 0.2

ProgressCallback = Callable[[float, str], None]
Topology = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    cached = kept_layout(graph, rng_seed)
    if cached is None:
        cached = compute_layout(graph, rng_seed, progress=progress, cancel=cancel)
        _write(_cache_path(graph, rng_seed), cached)
    if progress is not None:
        progress(1.0, "layout ready")
    return cached


def kept_layout(graph: Graph, rng_seed: int = 0) -> GraphLayout | None:
    """Return the layout from the cache; None where it was not computed yet."""
    return _read(_cache_path(graph, rng_seed), graph.num_nodes)


def sketch_layout(graph: Graph, rng_seed: int = 0, *, cancel: CancelSignal | None = None) -> GraphLayout | None:
    """Return the sketch from which the layout of a large graph starts: a million nodes in 2 s.

    None for a graph of which there is no sketch, since it is laid out in the same time. Setting `cancel` stops it
    with :class:`~workbench.core.errors.Cancelled`.
    """
    if graph.num_nodes < SKETCH_FROM:
        return None
    tick = _Ticker(None, cancel)
    frame, topology = _prepared(graph, tick)
    if frame.num_large < SKETCH_FROM:
        return None
    return frame.with_positions(_sketched(frame, topology, rng_seed, tick))


def compute_layout(
    graph: Graph,
    rng_seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
    cancel: CancelSignal | None = None,
) -> GraphLayout:
    """Compute a layout without looking at the cache; O((n + m) log n)."""
    tick = _Ticker(progress, cancel)
    frame, topology = _prepared(graph, tick)
    positions, rough = frame.start(), None
    if frame.num_large >= SKETCH_FROM:
        tick.tell(0.0)
        rough = _sketched(frame, topology, rng_seed, tick)[frame.is_large]
    if frame.num_large:
        positions[frame.is_large] = fit(_by_forces(topology, rng_seed, tick, rough), frame.bottom, rough)
    return frame.with_positions(positions)


def _prepared(graph: Graph, tick: _Ticker) -> tuple[Frame, Topology]:
    """Return the frame, and the symmetric topology of what is placed by forces."""
    tick.check()
    starts, adjacent, weights = symmetric_topology(graph)
    tick.check()
    if weights is None:
        weights = np.ones(len(adjacent), dtype=np.float32)
    frame = Frame.of(starts, adjacent)
    tick.check()
    topology = (starts, adjacent, weights.astype(np.float32))
    return frame, _kept(*topology, frame.is_large) if frame.num_small else topology


def _sketched(frame: Frame, topology: Topology, rng_seed: int, tick: _Ticker) -> np.ndarray:
    """Return positions of all nodes, those placed by forces as in a sketch."""
    positions = frame.start()
    silent = _Ticker(None, tick.cancel)  # its rounds are no progress of the whole

    def place(quotient: sparse.csr_array) -> np.ndarray:
        return _by_forces(_parts(quotient), rng_seed, silent, None)

    rough = sketch(*topology[:2], place, rng_seed, tick.check)
    positions[frame.is_large] = fit(rough, frame.bottom)
    return positions


def _kept(starts: np.ndarray, adjacent: np.ndarray, weights: np.ndarray, is_kept: np.ndarray) -> Topology:
    """Return the topology of some whole components."""
    degrees = np.diff(starts)
    number = np.cumsum(is_kept) - 1
    of_edges = np.repeat(is_kept, degrees)
    kept_starts = np.concatenate([[0], np.cumsum(degrees[is_kept])])
    return kept_starts, number.astype(adjacent.dtype)[adjacent[of_edges]], weights[of_edges]


def _parts(matrix: sparse.csr_array) -> Topology:
    return matrix.indptr, matrix.indices, matrix.data


def _by_forces(
    topology: Topology,
    rng_seed: int,
    tick: _Ticker,
    rough: np.ndarray | None,
) -> np.ndarray:
    """Place the nodes of a symmetric weighted graph, from a random start or from a sketch of it."""
    starts, adjacent, weights = topology
    levels = build_levels(
        starts.astype(np.int64), adjacent, weights, max_coarsest=MAX_COARSEST, rng_seed=rng_seed, tick=tick.check
    )
    tick.plan([level.num_nodes * _num_rounds(level) for level in levels])
    positions = np.zeros((0, 2))
    for depth in range(len(levels) - 1, -1, -1):
        level = levels[depth]
        jitter = generator(rng_seed, depth, 1).random((level.num_nodes, 2)) - 0.5
        if depth == len(levels) - 1:
            spread = jitter if rough is None else 0.1 * jitter + _means(levels, rough) - 0.5
            size = np.sqrt(level.num_nodes)
            start, heat = spread * size, size / (10 if rough is None else 30)
        else:
            growth = np.sqrt(level.num_nodes / len(positions))
            start, heat = positions[level.parent] * growth + jitter, 1.0
        tick.weight = level.num_nodes
        positions = refine(level, start, _num_rounds(level), heat, tick)
    return positions


def _means(levels: list[Level], positions: np.ndarray) -> np.ndarray:
    """Return where the nodes of the coarsest level lie, given where those of the finest do."""
    for level, coarser in itertools.pairwise(levels):
        sums = [np.bincount(level.parent, level.mass * axis, minlength=coarser.num_nodes) for axis in positions.T]
        positions = np.stack(sums, axis=1) / coarser.mass[:, None]
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
        self.tell(PROGRESS_SHARE_OF_LEVELS)

    def __call__(self) -> None:
        self.done += self.weight
        self.tell(PROGRESS_SHARE_OF_LEVELS + (1 - PROGRESS_SHARE_OF_LEVELS) * self.done / self.total)

    def check(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("the layout was cancelled")

    def tell(self, fraction: float) -> None:
        self.check()
        if self.progress is not None and fraction - self.told >= 0.01:
            self.told = fraction
            self.progress(fraction, "laying out the graph")


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
