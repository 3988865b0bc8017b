"""Kernels of the samplers: seeds, counts and one hop of neighbour sampling, all without the GIL.

A hop runs in passes, each a loop whose random reads do not depend on each other, so that the memory serves many at
once: count the edges, choose them, read their sources, number the nodes. The last two run one behind the other in a
single loop, each a fixed distance ahead of the next, which asks for its cache lines.

Numbering uses one int64 a node, ``slot[v] = tag << 32 | local id``: a slot counts only under the tag of its batch, so
nothing is cleared between batches.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from workbench.sampling.compiled import frozen, kernel, vector

_inline: Any = numba.njit(nogil=True)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_LOW_SIGNED = np.int64(0xFFFFFFFF)
_ONE, _NONE, _SIX_BITS = np.uint64(1), np.uint64(0), np.uint64(63)

AHEAD = 24  # edges between the passes of the pipelined loop: enough to hide a miss, few enough for L1
NODES_AHEAD = 8


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Ask for the cache line of ``array[index]``; the index may lie outside, nothing is read."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import cgutils

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        view = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(view.data, [args[1]])
        byte_pointer = builder.bitcast(pointer, cgutils.voidptr_t)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer.type, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [byte_pointer, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@_inline
def mix64(value):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser, as :func:`workbench.core.rng.mix64`."""
    value = (value ^ (value >> _S30)) * _FACTOR_1
    value = (value ^ (value >> _S27)) * _FACTOR_2
    return value ^ (value >> _S31)


@_inline
def below(bits, bound):  # type: ignore[no-untyped-def]
    """Map 64 random bits to 0 .. bound - 1: the high word of their product (Lemire 2019), bias below bound / 2**64."""
    wide = np.uint64(bound)
    if wide >> _S32:
        return np.int64(bits % wide)
    return np.int64(((bits >> _S32) * wide + (((bits & _LOW) * wide) >> _S32)) >> _S32)


_I64, _I32, _U64, _FLAG = types.int64, types.int32, types.uint64, types.boolean


@kernel((frozen(_I64), vector(_I64), _I64, vector(_I64)))
def enter_seeds(seed_nodes, slot, tag, nodes):  # type: ignore[no-untyped-def]
    """Number the seeds in their order; return the position of the first that came twice, or -1."""
    for i in range(seed_nodes.shape[0]):
        v = seed_nodes[i]
        if (slot[v] >> 32) == tag:
            return i
        slot[v] = (tag << 32) | i
        nodes[i] = v
    return -1


@kernel((frozen(_I64), frozen(_I64), _I64, _FLAG))
def count_edges(indptr, frontier, fanout, replace):  # type: ignore[no-untyped-def]
    """Return how many edges a hop from `frontier` draws: the sum of min(fanout, degree), or of all degrees."""
    total = 0
    for i in range(frontier.shape[0]):
        v = frontier[i]
        degree = indptr[v + 1] - indptr[v]
        if fanout < 0:
            total += degree
        elif replace:
            total += fanout if degree > 0 else 0
        else:
            total += min(fanout, degree)
    return total


@kernel((frozen(_I64), frozen(_I64)))
def largest_degree(indptr, frontier):  # type: ignore[no-untyped-def]
    """Return the largest degree of a frontier, 0 where it is empty."""
    largest = np.int64(0)
    for i in range(frontier.shape[0]):
        largest = max(largest, indptr[frontier[i] + 1] - indptr[frontier[i]])
    return largest


@_inline
def draw_distinct(low, degree, fanout, state, chosen):  # type: ignore[no-untyped-def]
    """Write `fanout` distinct edge ids of low .. low + degree - 1 to `chosen`, every set equally likely.

    Floyd's algorithm (Bentley & Floyd 1987): the i-th draw is below degree - fanout + i + 1, and where it was
    drawn before, the largest of its range stands in. A word of 64 bits tells most draws that they are new. A
    fanout so large that looking through the earlier draws would cost more than looking at every edge takes
    edges one by one instead, each with probability (still wanted) / (still there).
    """
    if fanout > 32 and fanout * fanout > 8 * degree:
        count = 0
        position = 0
        while count < fanout:
            bits = mix64(state + GOLDEN * np.uint64(position + 1))
            if below(bits, degree - position) < fanout - count:
                chosen[count] = low + position
                count += 1
            position += 1
        return
    seen = _NONE
    for i in range(fanout):
        largest = degree - fanout + i
        pick = below(mix64(state + GOLDEN * np.uint64(i + 1)), largest + 1)
        bit = _ONE << (np.uint64(pick) & _SIX_BITS)
        if seen & bit:
            for q in range(i):
                if chosen[q] == low + pick:
                    pick = largest
                    break
            bit = _ONE << (np.uint64(pick) & _SIX_BITS)
        seen |= bit
        chosen[i] = low + pick


@kernel(
    (frozen(_I64), frozen(_I64), _I64, _I64, _FLAG, _U64, vector(_I64), vector(_I64)),
)
def draw_edges(indptr, frontier, first, fanout, replace, hop_key, destinations, edge_ids):  # type: ignore[no-untyped-def]
    """Choose the in-edges of a frontier whose first node has local id `first`; the arrays have the counted length.

    A node's draws are the SplitMix64 stream that starts at key64(..., hop, node): they depend on nothing else.
    """
    e = 0
    last = frontier.shape[0] - 1
    for i in range(last + 1):
        prefetch(indptr, frontier[min(i + NODES_AHEAD, last)])
        v = frontier[i]
        low = indptr[v]
        degree = indptr[v + 1] - low
        if degree == 0:
            continue
        if fanout < 0 or (degree <= fanout and not replace):
            count = degree
            for j in range(degree):
                edge_ids[e + j] = low + j
        else:
            count = fanout
            state = mix64(hop_key + GOLDEN + np.uint64(v))
            if replace:
                for j in range(fanout):
                    edge_ids[e + j] = low + below(mix64(state + GOLDEN * np.uint64(j + 1)), degree)
            else:
                draw_distinct(low, degree, fanout, state, edge_ids[e : e + fanout])
        for j in range(e, e + count):
            destinations[j] = first + i
        e += count
    return e


@kernel(
    (frozen(_I32), frozen(_I64), vector(_I64), _I64, vector(_I64), _I64, vector(_I64)),
    (frozen(_I64), frozen(_I64), vector(_I64), _I64, vector(_I64), _I64, vector(_I64)),
)
def number_sources(indices, edge_ids, slot, tag, nodes, num_nodes, sources):  # type: ignore[no-untyped-def]
    """Read the sources of chosen edges, number the new ones from `num_nodes` on, and return the new count.

    `nodes` has room for one node more than there can be: every edge writes its source behind the last node, and
    the count moves on only if that was new, so that no branch has to be guessed.
    """
    num_edges = edge_ids.shape[0]
    for j in range(min(2 * AHEAD, num_edges)):
        prefetch(indices, edge_ids[j])
    for j in range(min(AHEAD, num_edges)):
        source = np.int64(indices[edge_ids[j]])
        sources[j] = source
        prefetch(slot, source)
    high = tag << 32
    for j in range(num_edges):
        if j + 2 * AHEAD < num_edges:
            prefetch(indices, edge_ids[j + 2 * AHEAD])
        if j + AHEAD < num_edges:
            source = np.int64(indices[edge_ids[j + AHEAD]])
            sources[j + AHEAD] = source
            prefetch(slot, source)
        source = sources[j]
        entry = slot[source]
        known = (entry >> 32) == tag
        local = entry & _LOW_SIGNED if known else num_nodes
        slot[source] = high | local
        nodes[num_nodes] = source
        sources[j] = local
        num_nodes += 0 if known else 1
    return num_nodes
