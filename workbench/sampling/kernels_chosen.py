"""Kernels that draw among chosen in-edges: by weight, up to a time, for trees side by side.

A node's candidates are those of its in-edges that are not later than its seed and weigh something; a draw is uniform,
by weight, or takes the latest. Trees have draws of their own: a node's stream starts at key64(..., hop, tree, node).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types

from workbench.sampling.compiled import frozen, kernel, vector
from workbench.sampling.kernels import GOLDEN, below, draw_distinct, mix64

_inline: Any = numba.njit(nogil=True)
_I64, _I32, _U64, _FLAG = types.int64, types.int32, types.uint64, types.boolean
_F32, _F64 = types.float32, types.float64
_S11, _ONE = np.uint64(11), np.uint64(1)
_UNIT = 1.0 / (1 << 53)


@_inline
def unit(bits):  # type: ignore[no-untyped-def]
    """Map 64 random bits to a number above 0 and up to 1."""
    return (np.float64(bits >> _S11) + 1.0) * _UNIT


@_inline
def _is_worse(keys, ids, a, b):  # type: ignore[no-untyped-def]
    """Say whether entry a leaves before b: a larger key, or of equal keys the earlier edge."""
    return keys[a] > keys[b] or (keys[a] == keys[b] and ids[a] < ids[b])


@_inline
def _swap(keys, ids, a, b):  # type: ignore[no-untyped-def]
    keys[a], keys[b] = keys[b], keys[a]
    ids[a], ids[b] = ids[b], ids[a]


@_inline
def _sink(keys, ids, place, size):  # type: ignore[no-untyped-def]
    """Restore a heap, the worst entry on top, whose entry at `place` may be too good for it."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _is_worse(keys, ids, child + 1, child):
            child += 1
        if not _is_worse(keys, ids, child, place):
            return
        _swap(keys, ids, child, place)
        place = child


@_inline
def keep_smallest(keys, ids, num, wanted):  # type: ignore[no-untyped-def]
    """Move the `wanted` entries of the smallest keys to the front, in the order of their ids."""
    for place in range(wanted // 2, -1, -1):
        _sink(keys, ids, place, wanted)
    for i in range(wanted, num):
        if _is_worse(keys, ids, 0, i):
            _swap(keys, ids, 0, i)
            _sink(keys, ids, 0, wanted)
    ids[:wanted].sort()


@_inline
def draw_by_weight(ids, keys, num, fanout, replace, low, state, weights):  # type: ignore[no-untyped-def]
    """Leave `fanout` of `num` candidates at the front of `ids`.

    With replacement by the sums of weights; without, the smallest of exponential times with the weights as rates, which
    is one draw after another among what is left (Efraimidis & Spirakis 2006).
    """
    numbers = keys.view(np.float64)
    if not replace:
        for c in range(num):
            bits = mix64(state + GOLDEN * np.uint64(ids[c] - low + 1))
            numbers[c] = -np.log(unit(bits)) / np.float64(weights[ids[c]])
        keep_smallest(keys, ids, num, fanout)  # the bits of positive numbers have the order of the numbers
        return
    total = 0.0
    for c in range(num):
        total += np.float64(weights[ids[c]])
        numbers[c] = total
    for j in range(fanout):
        mark = unit(mix64(state + GOLDEN * np.uint64(j + 1))) * total
        first, last = 0, num - 1
        while first < last:  # the first whose sum reaches the mark
            middle = (first + last) // 2
            if numbers[middle] < mark:
                first = middle + 1
            else:
                last = middle
        ids[num + j] = ids[first]
    for j in range(fanout):
        ids[j] = ids[num + j]


@_inline
def draw_any(low, degree, fanout, replace, state, chosen):  # type: ignore[no-untyped-def]
    """Write the edges that a node draws where all of its in-edges are alike, and return how many."""
    if fanout < 0 or (degree <= fanout and not replace):
        for j in range(degree):
            chosen[j] = low + j
        return degree
    if replace:
        for j in range(fanout):
            chosen[j] = low + below(mix64(state + GOLDEN * np.uint64(j + 1)), degree)
    else:
        draw_distinct(low, degree, fanout, state, chosen[:fanout])
    return fanout


@_inline
def draw_uniform(ids, keys, num, fanout, replace, state):  # type: ignore[no-untyped-def]
    """Leave `fanout` of `num` candidates at the front of `ids`, each as likely as the others."""
    if replace:
        for j in range(fanout):
            keys[j] = below(mix64(state + GOLDEN * np.uint64(j + 1)), num)
    else:
        draw_distinct(0, num, fanout, state, keys[:fanout])
    for j in range(fanout):
        keys[j] = ids[keys[j]]
    for j in range(fanout):
        ids[j] = keys[j]


@_inline
def is_timely(indices, edge, edge_times, node_times, until):  # type: ignore[no-untyped-def]
    """Say whether an edge, or its source, is not later than a time; it is where there are no times."""
    if edge_times.shape[0] > 0:
        return edge_times[edge] <= until
    return node_times.shape[0] == 0 or node_times[indices[edge]] <= until


@_inline
def gather(indices, low, high, weights, edge_times, node_times, until, ids):  # type: ignore[no-untyped-def]
    """Write the candidates of a node to `ids`; return how many, or -1 where there are some and all weigh nothing."""
    num, num_timely = 0, 0
    for j in range(low, high):
        if is_timely(indices, j, edge_times, node_times, until):
            num_timely += 1
            if weights.shape[0] == 0 or weights[j] > 0:
                ids[num] = j
                num += 1
    return -1 if num == 0 and num_timely > 0 else num


@_inline
def rank_by_time(indices, edge_times, node_times, ids, keys, num):  # type: ignore[no-untyped-def]
    """Give each candidate a key that is the smaller the later it is."""
    for c in range(num):
        keys[c] = ~(edge_times[ids[c]] if edge_times.shape[0] > 0 else node_times[indices[ids[c]]])


def _signature(ids: Any) -> tuple[Any, ...]:
    columns = (frozen(_F32), frozen(_I64), frozen(_I64), frozen(_I64))
    frontier = (frozen(_I64), frozen(_I64), _I64, frozen(_I64))
    draws = (_I64, _FLAG, _FLAG, _U64)
    return (frozen(_I64), frozen(ids), *frontier, *columns, *draws, *(vector(_I64),) * 4)


@kernel(_signature(_I32), _signature(_I64))
def draw_chosen(  # type: ignore[no-untyped-def]
    indptr, indices, frontier, trees, first, tree_nodes, weights, edge_times, node_times, seed_times,
    fanout, replace, is_last, hop_key, ids, keys, destinations, edge_ids,
):  # fmt: skip
    """Choose the in-edges of a frontier; return how many, or -1 - i where all candidates of its node i weigh 0.

    Parameters
    ----------
    trees : array
        Position of each node's seed; empty where there are no trees, as are the columns where there are none.
    tree_nodes : array
        The seed of each tree.
    ids, keys : array
        Room for the largest degree; with replacement for twice the fanout beside it.
    """
    e = 0
    has_times = seed_times.shape[0] > 0
    for i in range(frontier.shape[0]):
        v = frontier[i]
        low, high = indptr[v], indptr[v + 1]
        if low == high:
            continue
        tree = trees[i] if trees.shape[0] > 0 else -1
        state = hop_key if tree < 0 else mix64(hop_key + GOLDEN + np.uint64(tree_nodes[tree]))
        state = mix64(state + GOLDEN + np.uint64(v))
        if weights.shape[0] == 0 and not has_times:
            count = draw_any(low, high - low, fanout, replace, state, edge_ids[e:])
        else:
            until = seed_times[tree] if has_times else np.int64(0)
            count = num = gather(indices, low, high, weights, edge_times, node_times, until, ids)
            if num < 0:
                return -1 - i
            if num > 0 and fanout >= 0 and (num > fanout or replace):
                count = fanout
                if weights.shape[0] > 0:
                    draw_by_weight(ids, keys, num, fanout, replace, low, state, weights)
                elif is_last:
                    rank_by_time(indices, edge_times, node_times, ids, keys, num)
                    keep_smallest(keys, ids, num, fanout)
                else:
                    draw_uniform(ids, keys, num, fanout, replace, state)
            edge_ids[e : e + count] = ids[:count]
        destinations[e : e + count] = first + i
        e += count
    return e
