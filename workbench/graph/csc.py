"""Topology as compressed columns: in-edges by destination, sources ascending within each destination.

The order is canonical: the same edges give the same arrays in whatever order they came, so that equal topologies
have equal fingerprints. Parallel edges keep the order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Csc:
    """Compressed columns and where each edge came from.

    Parameters
    ----------
    indptr : array, int64 (n + 1)
    indices : array, int32 or int64 (m)
        ``indices[indptr[v]:indptr[v + 1]]`` are the sources of the in-edges of v, ascending.
    order : array (m) or None
        ``order[e]`` is the original position of edge e; None where the edges came in this order.
    """

    indptr: Array
    indices: Array
    order: Array | None


def index_dtype(largest: int) -> type[np.int32] | type[np.int64]:
    """Return the narrower of int32 and int64 that holds every number up to `largest`."""
    return np.int32 if largest <= INT32_MAX else np.int64


def counting_order(keys: Array, num_keys: int) -> tuple[Array, Array]:
    """Return the stable ascending order of `keys` and the start of each key in it (num_keys + 1), in O(m + n).

    The matrix with one entry a row, at column ``keys[row]``, is turned from CSR to CSC: that is a counting sort
    in compiled code, with 9 bytes of scratch a key.
    """
    num = len(keys)
    if num == 0:
        return np.zeros(0, np.int32), np.zeros(num_keys + 1, np.int64)
    dtype = index_dtype(max(num, num_keys))
    starts = np.arange(num + 1, dtype=dtype)
    rows = sparse.csr_array((np.ones(num, np.int8), keys.astype(dtype, copy=False), starts), shape=(num, num_keys))
    columns = rows.tocsc()
    return columns.indices, columns.indptr.astype(np.int64)


def is_canonical(source: Array, destination: Array) -> bool:
    """Say whether edges are already ascending by destination, then by source."""
    if len(source) < 2:
        return True
    ahead, behind = destination[1:], destination[:-1]
    return bool(np.all((ahead > behind) | ((ahead == behind) & (source[1:] >= source[:-1]))))


def build_csc(source: Array, destination: Array, num_nodes: int) -> Csc:
    """Compress edges in two stable passes, by source and then by destination; ids must be in range."""
    dtype = index_dtype(num_nodes)
    source, destination = source.astype(dtype, copy=False), destination.astype(dtype, copy=False)
    if is_canonical(source, destination):
        indptr = np.zeros(num_nodes + 1, np.int64)
        np.cumsum(np.bincount(destination, minlength=num_nodes), out=indptr[1:])
        return Csc(indptr=indptr, indices=source.copy(), order=None)
    by_source, _ = counting_order(source, num_nodes)
    by_destination, indptr = counting_order(destination[by_source], num_nodes)
    order = by_source[by_destination]
    return Csc(indptr=indptr, indices=source[order], order=order)


def destinations(indptr: Array, dtype: Any = np.int64) -> Array:
    """Return the destination of every edge (m)."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=dtype), np.diff(indptr))


def transpose(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the out-edges: compressed by source, destinations ascending."""
    num_nodes = len(indptr) - 1
    if len(indices) == 0:
        return np.zeros(num_nodes + 1, np.int64), indices
    ones = np.ones(len(indices), np.int8)
    other = sparse.csr_array((ones, indices, indptr), shape=(num_nodes, num_nodes)).tocsc()
    return other.indptr.astype(np.int64), other.indices.astype(indices.dtype, copy=False)


def is_symmetric(indptr: Array, indices: Array) -> bool:
    """Say whether every edge u -> v stands beside as many edges v -> u; O(n) memory."""
    from workbench.core.jit import read_only
    from workbench.graph.symmetric import has_all_reverses

    return bool(has_all_reverses(read_only(indptr), read_only(indices)))


def both_directions(source: Array, destination: Array, num_nodes: int) -> tuple[Array, Array, Array]:
    """Return each joined pair once in each direction, in canonical order, and the edge that it stands for.

    A pair that several edges join counts once and stands for the first of them; a self-loop stays one edge.

    Returns
    -------
    source, destination, edge : arrays
        The new edges, and the position in the old ones that each comes from.
    """
    low, high = np.minimum(source, destination), np.maximum(source, destination)
    pairs = build_csc(low, high, num_nodes)
    order = np.arange(len(low), dtype=np.int64) if pairs.order is None else pairs.order
    low, high = low[order], high[order]
    first = np.ones(len(low), bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, edge = low[first], high[first], order[first]
    apart = low != high
    edge = np.concatenate([edge, edge[apart]])
    both = build_csc(np.append(low, high[apart]), np.append(high, low[apart]), num_nodes)
    return both.indices, destinations(both.indptr, both.indices.dtype), edge if both.order is None else edge[both.order]
