"""Kernels that look at every in-edge of their nodes: LABOR, layers, and the edges among given nodes.

How many edges come out is known at the end only: each kernel writes what its arrays hold, counts the rest, and is run
again with the room that it asked for.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from workbench.sampling.compiled import frozen, kernel, vector
from workbench.sampling.kernels import GOLDEN, mix64
from workbench.sampling.kernels_chosen import unit

_I64, _I32, _U64 = types.int64, types.int32, types.uint64
_F32, _F64 = types.float32, types.float64
_OUT = (vector(_I64), vector(_I64), vector(_F32))
_LOW = np.int64(0xFFFFFFFF)


@kernel(
    (frozen(_I64), frozen(_I32), frozen(_I64), _I64, _I64, _U64, *_OUT),
    (frozen(_I64), frozen(_I64), frozen(_I64), _I64, _I64, _U64, *_OUT),
)
def draw_shared(indptr, indices, frontier, first, fanout, hop_key, destinations, edge_ids, edge_weight):  # type: ignore[no-untyped-def]
    """Take the in-edges whose source's number is at most fanout / degree: one number a source and hop, for all."""
    e = 0
    for i in range(frontier.shape[0]):
        low, high = indptr[frontier[i]], indptr[frontier[i] + 1]
        share = 1.0 if fanout < 0 else min(1.0, fanout / max(high - low, 1))
        for j in range(low, high):
            if share < 1.0 and unit(mix64(hop_key + GOLDEN + np.uint64(indices[j]))) > share:
                continue
            if e < edge_ids.shape[0]:
                destinations[e], edge_ids[e], edge_weight[e] = first + i, j, 1.0 / share
            e += 1
    return e


@kernel(
    (frozen(_I64), frozen(_I32), frozen(_I64), vector(_I64), _I64, vector(_F64)),
    (frozen(_I64), frozen(_I64), frozen(_I64), vector(_I64), _I64, vector(_F64)),
)
def weigh_marked(indptr, indices, frontier, marks, tag, mass):  # type: ignore[no-untyped-def]
    """Add for each marked source 1 / degree² over its edges to a frontier, at the position that its mark names."""
    for i in range(frontier.shape[0]):
        low, high = indptr[frontier[i]], indptr[frontier[i] + 1]
        if low == high:
            continue
        share = 1.0 / (np.float64(high - low) * np.float64(high - low))
        for j in range(low, high):
            mark = marks[indices[j]]
            if (mark >> 32) == tag:
                mass[mark & _LOW] += share


@kernel((frozen(_I64), vector(_I64), _I64))
def mark_nodes(nodes, marks, tag):  # type: ignore[no-untyped-def]
    """Mark nodes with their positions."""
    for i in range(nodes.shape[0]):
        marks[nodes[i]] = (tag << 32) | i


@kernel(
    (frozen(_I64), frozen(_I32), frozen(_I64), _I64, vector(_I64), _I64, frozen(_F32), *_OUT),
    (frozen(_I64), frozen(_I64), frozen(_I64), _I64, vector(_I64), _I64, frozen(_F32), *_OUT),
)
def draw_marked(indptr, indices, frontier, first, marks, tag, weights, destinations, edge_ids, edge_weight):  # type: ignore[no-untyped-def]
    """Take the in-edges whose source is marked and has a positive weight."""
    e = 0
    for i in range(frontier.shape[0]):
        for j in range(indptr[frontier[i]], indptr[frontier[i] + 1]):
            mark = marks[indices[j]]
            if (mark >> 32) == tag and weights[mark & _LOW] > 0:
                if e < edge_ids.shape[0]:
                    destinations[e], edge_ids[e], edge_weight[e] = first + i, j, weights[mark & _LOW]
                e += 1
    return e


@kernel(
    (frozen(_I64), frozen(_I32), frozen(_I64), vector(_I64), _I64, *(vector(_I64),) * 3),
    (frozen(_I64), frozen(_I64), frozen(_I64), vector(_I64), _I64, *(vector(_I64),) * 3),
)
def join_nodes(indptr, indices, nodes, slots, tag, sources, destinations, edge_ids):  # type: ignore[no-untyped-def]
    """Write the edges among numbered nodes, by destination; return how many there are, written or not."""
    e = 0
    for i in range(nodes.shape[0]):
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            entry = slots[indices[j]]
            if (entry >> 32) == tag:
                if e < edge_ids.shape[0]:
                    sources[e], destinations[e], edge_ids[e] = entry & _LOW, i, j
                e += 1
    return e
