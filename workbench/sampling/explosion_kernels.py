"""Compiled kernels of the explosion analysis: exact counts of what a neighbourhood reads.

All release the GIL. An edge u -> v is walked from v to u, because a message-passing layer reads the in-neighbours.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types

from workbench.sampling.compiled import frozen, kernel, vector

_inline: Any = numba.njit(nogil=True)
_I64, _I32, _U64, _F64 = types.int64, types.int32, types.uint64, types.float64
_IDS = (_I32, _I64)  # the two widths of a graph's indices


def _table(kind: Any) -> Any:
    return types.Array(kind, 2, "C")


NO_LABEL = np.int32(2**31 - 1)  # of a node that no seed has reached yet
WORD_BITS = 64  # seeds that one pass of `reach_words` follows at once


@kernel(
    *(
        (frozen(_I64), frozen(ids), frozen(_I64), vector(_I32), _I64, vector(_I64), vector(_I64), vector(_I64))
        for ids in _IDS
    )
)
def grow(indptr, indices, seeds, stamp, tag, queue, num_nodes, num_edges):  # type: ignore[no-untyped-def]
    """Breadth-first search from all seeds together; every node is expanded once, where it first appears.

    `num_nodes[h]` and `num_edges[h]` become the nodes within h hops and the edges read for them.
    `stamp` (int32, n) holds old tags; `queue` (n) holds the nodes in order of discovery. Returns their number.
    """
    count = 0
    for i in range(seeds.shape[0]):
        v = seeds[i]
        if stamp[v] != tag:
            stamp[v] = tag
            queue[count] = v
            count += 1
    num_nodes[0] = count
    num_edges[0] = 0
    begin = 0
    edges = 0
    for hop in range(1, num_nodes.shape[0]):
        end = count
        for i in range(begin, end):
            v = queue[i]
            edges += indptr[v + 1] - indptr[v]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if stamp[u] != tag:
                    stamp[u] = tag
                    queue[count] = u
                    count += 1
        begin = end
        num_nodes[hop] = count
        num_edges[hop] = edges
    return count


@kernel(
    *(
        (
            frozen(_I64),
            frozen(ids),
            frozen(_I64),
            frozen(_I64),
            *2 * (vector(_F64),),
            *2 * (vector(_I64),),
            vector(_F64),
        )
        for ids in _IDS
    )
)
def tree_slots(indptr, indices, seeds, fanouts, mass, next_mass, current, following, slots):  # type: ignore[no-untyped-def]
    """Expected nodes of the computation tree, repeats included, up to each hop.

    A slot of node v draws min(fanout, degree) of its neighbours, each equally likely; -1 takes all, and the
    count is then the exact number of walks. Masses stay sparse: the last hop needs only degrees, so the cost
    is that of a search of one hop less. `mass` and `next_mass` (float64, n) are zero before and after.
    """
    count = 0
    for i in range(seeds.shape[0]):
        v = seeds[i]
        if mass[v] == 0.0:
            current[count] = v
            count += 1
            mass[v] = 1.0
    slots[0] = count
    depth = fanouts.shape[0]
    for hop in range(depth):
        total = 0.0
        num_following = 0
        for i in range(count):
            v = current[i]
            degree = indptr[v + 1] - indptr[v]
            taken = degree if fanouts[hop] < 0 else min(fanouts[hop], degree)
            total += mass[v] * taken
            if hop + 1 < depth and taken > 0:
                share = mass[v] * taken / degree
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    if next_mass[u] == 0.0:
                        following[num_following] = u
                        num_following += 1
                    next_mass[u] += share
            mass[v] = 0.0
        slots[hop + 1] = slots[hop] + total
        mass, next_mass = next_mass, mass
        current, following = following, current
        count = num_following


@kernel(*((frozen(ids), vector(_I32)) for ids in _IDS))
def count_sources(indices, counts):  # type: ignore[no-untyped-def]
    """Add one to `counts` (int32, n) for every edge of a source: its out-degree, without a copy of the edges."""
    for e in range(indices.shape[0]):
        counts[indices[e]] += 1


@kernel(*((frozen(_I64), frozen(ids), frozen(_F64), _I64, vector(_F64)) for ids in _IDS))
def spread_misses(indptr, indices, fresh, fanout, missed):  # type: ignore[no-untyped-def]
    """Multiply `missed[u]` by the probability that v does not draw u, for every node v that is new with `fresh[v]`."""
    for v in range(fresh.shape[0]):
        if fresh[v] > 0.0:
            degree = indptr[v + 1] - indptr[v]
            share = 1.0 if fanout < 0 or fanout >= degree else fanout / degree
            for e in range(indptr[v], indptr[v + 1]):
                missed[indices[e]] *= 1.0 - share * fresh[v]


@_inline
def _add_word(planes, word):  # type: ignore[no-untyped-def]
    """Add one to the counter of each bit that is set in `word`.

    `planes` hold 64 counters at once, one binary digit of all of them a plane: adding a word is a ripple carry.
    """
    digit = 0
    while word != 0:
        overflow = planes[digit] & word
        planes[digit] ^= word
        word = overflow
        digit += 1


@_inline
def _read_counters(planes, sizes):  # type: ignore[no-untyped-def]
    """Add the counters in `planes` to `sizes`, one a bit."""
    for s in range(sizes.shape[0]):
        total = np.int64(0)
        for digit in range(planes.shape[0]):
            total += np.int64((planes[digit] >> np.uint64(s)) & np.uint64(1)) << digit
        sizes[s] += total


@kernel(
    *(
        (frozen(_I64), frozen(ids), frozen(_I64), frozen(types.boolean), *3 * (vector(_U64),), _table(_I64))
        for ids in _IDS
    )
)
def reach_words(indptr, indices, seeds, blocked, seen, frontier, following, sizes):  # type: ignore[no-untyped-def]
    """Follow up to 64 seeds at once, one bit each: `sizes[s, h]` becomes the nodes within h hops of seed s.

    `blocked` nodes are reached but never expanded. `seen`, `frontier`, `following` are uint64 (n); 24 bytes a node
    (multi-source breadth-first search: Then et al. 2014). A hop reads the lists of the frontier once for all seeds,
    then passes over the nodes once: new bits are counted where they are found.
    """
    planes = np.zeros(48, np.uint64)
    seen[:] = 0
    frontier[:] = 0
    following[:] = 0
    for s in range(seeds.shape[0]):
        frontier[seeds[s]] |= np.uint64(1) << np.uint64(s)
        seen[seeds[s]] = frontier[seeds[s]]
        sizes[s, 0] = 1
    for hop in range(1, sizes.shape[1]):
        for v in range(seen.shape[0]):
            word = frontier[v]
            if word != 0 and not blocked[v]:
                for e in range(indptr[v], indptr[v + 1]):
                    following[indices[e]] |= word
        planes[:] = 0
        for v in range(seen.shape[0]):
            word = following[v] & ~seen[v]
            frontier[v] = word
            following[v] = 0
            if word != 0:
                seen[v] |= word
                _add_word(planes, word)
        sizes[:, hop] = sizes[:, hop - 1]
        _read_counters(planes, sizes[:, hop])


@kernel(*((frozen(_I64), frozen(ids), vector(_I32), vector(_I32), _table(_I64)) for ids in _IDS))
def first_labels(indptr, indices, label, following, counts):  # type: ignore[no-untyped-def]
    """Unique nodes of every batch size at once, from one order of the seeds.

    `label[v]` is the seed's position in the order (``NO_LABEL`` where v is no seed). After h hops it is the first
    position from which v is reached, so the batch of the first b seeds reads the nodes with a label below b:
    `counts[h, p]` becomes the number of nodes with label p.
    """
    following[:] = label
    changed = label != NO_LABEL
    for hop in range(counts.shape[0]):
        if hop > 0:
            for v in range(label.shape[0]):
                if changed[v]:
                    mine = label[v]
                    for e in range(indptr[v], indptr[v + 1]):
                        u = indices[e]
                        if mine < following[u]:
                            following[u] = mine
            for v in range(label.shape[0]):
                changed[v] = following[v] != label[v]
                label[v] = following[v]
        for v in range(label.shape[0]):
            if label[v] != NO_LABEL:
                counts[hop, label[v]] += 1
