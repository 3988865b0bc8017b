"""An R-MAT graph larger than memory, written as a graph's folder in streaming passes over edges that are never kept.

An edge is a pure function of (rng_seed, its number), so each pass draws all of them again: one pass counts the
in-degrees, then each bucket of destinations is filled by a pass of its own. Memory is the degrees and one bucket a
thread, whatever the number of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.rng import key64
from workbench.graph import folder
from workbench.graph.graph import Graph
from workbench.graph.rmat_kernels import count_destinations, place_sources, sort_lists

Array = NDArray[Any]
Progress = Callable[[str, float], None]
EDGES_A_CALL = 1 << 24  # of a kernel, so that progress is told and an interrupt is heard
BUCKET_EDGES = 1 << 28  # 1 GiB of sources
_HEADER_BYTES = 128  # of an array file, before its data
_KEY = 0x4A7


@dataclass(frozen=True, slots=True, kw_only=True)
class RmatStream:
    """A directed R-MAT graph, folded onto any number of nodes; self-loops and parallel edges stay.

    The ids of 2^ceil(log2 n) nodes are permuted, and those from n on folded onto the first ones.
    Chakrabarti, Zhan & Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SDM 2004.

    Parameters
    ----------
    num_nodes, num_edges : int
        At most 2^31 - 1 nodes.
    a, b, c : float
        Shares of the edges in three quarters of the matrix, at each of its levels.
    rng_seed : int
    num_threads : int
        Changes the time, never the graph.
    bucket_edges : int
        Edges that a thread holds in memory, 4 bytes each; a node with more in-edges has a bucket of its own.
    """

    num_nodes: int
    num_edges: int
    a: float = 0.57
    b: float = 0.19
    c: float = 0.19
    rng_seed: int = 0
    num_threads: int = 2
    bucket_edges: int = BUCKET_EDGES

    def __post_init__(self) -> None:
        findings = Findings("R-MAT")
        if not 1 <= self.num_nodes < 2**31:
            findings.add("num_nodes", "1 to 2^31 - 1", self.num_nodes, "use fewer nodes")
        for name, least in (("num_edges", 0), ("num_threads", 1), ("bucket_edges", 1)):
            if getattr(self, name) < least:
                findings.add(name, f"at least {least}", getattr(self, name), f"use {name}={least}")
        if min(self.a, self.b, self.c) < 0 or self.a + self.b + self.c > 1:
            findings.add("a, b, c", "shares that sum to at most 1", (self.a, self.b, self.c), "use 0.57, 0.19, 0.19")
        findings.raise_if_any()

    @property
    def levels(self) -> int:
        """Levels of the matrix: the bits of an id."""
        return max(1, (self.num_nodes - 1).bit_length())

    @property
    def kernel_arguments(self) -> tuple[np.uint64, int, Array]:
        """Return key, levels and cuts, as the kernels take them."""
        cuts = np.rint(np.cumsum([self.a, self.b, self.c]) * 65536).astype(np.uint32)
        return np.uint64(key64(self.rng_seed, _KEY)), self.levels, cuts

    def save(self, path: str | Path, progress: Progress | None = None) -> Path:
        """Write the folder that ``Graph.open`` maps, aside and renamed when whole.

        Parameters
        ----------
        progress : callable, optional
            Called with what is done, ``"counting"``, ``"placing"`` or ``"hashing"``, and the fraction of it.
        """
        path = Path(path).expanduser().absolute()
        if path.exists():
            findings = Findings("R-MAT")
            findings.add("path", "a folder that is not there yet", str(path), "remove it, or choose another")
            findings.raise_if_any()
        tell = progress or (lambda _name, _fraction: None)
        path.parent.mkdir(parents=True, exist_ok=True)
        with folder.aside(path) as partial:
            files = partial / "indptr.npy", partial / "indices.npy"
            indptr = self._write_indptr(files[0], tell)
            self._write_indices(files[1], indptr, tell)
            tell("hashing", 0.0)
            folder.seal(self._mapped(*files), partial)
            tell("hashing", 1.0)
            partial.rename(path)
        return path

    def _mapped(self, *files: Path) -> Graph:
        indptr, indices = (_mapped(file) for file in files)
        meta = {"generator": "rmat", "a": self.a, "b": self.b, "c": self.c, "rng_seed": self.rng_seed}
        return Graph(indptr=indptr, indices=indices, name="rmat", meta=meta)

    def _write_indptr(self, file: Path, tell: Progress) -> Array:
        key, levels, cuts = self.kernel_arguments
        bounds = np.linspace(0, self.num_edges, self.num_threads + 1).astype(np.int64)

        def count(thread: int) -> Array:
            counts = np.zeros(self.num_nodes, np.uint32)
            for start, stop in _pieces(int(bounds[thread]), int(bounds[thread + 1])):
                count_destinations(key, start, stop, levels, cuts, self.num_nodes, counts)
                if thread == 0:
                    tell("counting", (stop - bounds[0]) / max(bounds[1] - bounds[0], 1))
            return counts

        with ThreadPoolExecutor(self.num_threads) as pool:
            parts = list(pool.map(count, range(self.num_threads)))
        for part in parts[1:]:
            parts[0] += part
        indptr = _created(file, np.int64, self.num_nodes + 1)
        np.cumsum(parts[0], out=indptr[1:])
        _flush(indptr)
        return indptr

    def _write_indices(self, file: Path, indptr: Array, tell: Progress) -> None:
        key, levels, cuts = self.kernel_arguments
        indices = _created(file, np.int32, self.num_edges)
        buckets = buckets_of(indptr, self.bucket_edges)
        done = np.zeros(max(len(buckets), 1))

        def fill(bucket: int) -> None:
            low, high = buckets[bucket]
            base, end = int(indptr[low]), int(indptr[high])
            sources, cursor = np.empty(end - base, np.int32), indptr[low:high] - base
            for start, stop in _pieces(0, self.num_edges):
                place_sources(key, start, stop, levels, cuts, self.num_nodes, low, cursor, sources)
                done[bucket] = stop / self.num_edges
                tell("placing", float(done.mean()))
            sort_lists(np.asarray(indptr[low : high + 1]), base, sources)
            indices[base:end] = sources

        with ThreadPoolExecutor(self.num_threads) as pool:
            list(pool.map(fill, range(len(buckets))))
        _flush(indices)


def buckets_of(indptr: Array, bucket_edges: int) -> list[tuple[int, int]]:
    """Cut the nodes into runs of at most `bucket_edges` in-edges (one node may have more), without empty runs."""
    buckets, low, num_nodes = [], 0, len(indptr) - 1
    while low < num_nodes and indptr[low] < indptr[-1]:
        high = int(np.searchsorted(indptr, indptr[low] + bucket_edges, side="right")) - 1
        high = min(max(high, low + 1), num_nodes)
        if indptr[high] > indptr[low]:
            buckets.append((low, high))
        low = high
    return buckets


def _pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    for first in range(start, stop, EDGES_A_CALL):
        yield first, min(first + EDGES_A_CALL, stop)


def _created(file: Path, dtype: type[np.int32] | type[np.int64], size: int) -> Array:
    """Return a writable array in a new file; an empty one cannot be mapped and is written at once."""
    if size == 0:
        np.save(file, np.empty(0, dtype))
        return np.empty(0, dtype)
    mapped: Array = np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=(size,))
    return mapped


def _mapped(file: Path) -> Array:
    empty = file.stat().st_size <= _HEADER_BYTES
    array: Array = np.load(file, mmap_mode=None if empty else "r")
    return array


def _flush(array: Array) -> None:
    if isinstance(array, np.memmap):
        array.flush()
