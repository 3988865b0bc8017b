"""Kernels for trees side by side: the same node has a local id in each tree that reaches it.

Pairs of tree and node are numbered by an open table of local ids, which is as large as the batch and not as the graph.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types

from workbench.sampling.compiled import frozen, kernel, vector
from workbench.sampling.kernels import GOLDEN, mix64

_inline: Any = numba.njit(nogil=True)
_I64, _I32 = types.int64, types.int32


@_inline
def find(nodes, trees, table, tree, node):  # type: ignore[no-untyped-def]
    """Return the place in the table that a pair has, or would have."""
    mask = np.uint64(table.shape[0] - 1)
    place = mix64(np.uint64(tree) * GOLDEN + np.uint64(node)) & mask
    while True:
        local = table[place] - 1
        if local < 0 or (nodes[local] == node and trees[local] == tree):
            return np.int64(place)
        place = (place + np.uint64(1)) & mask


@kernel((vector(_I64), vector(_I64), _I64, vector(_I64)))
def enter_pairs(nodes, trees, count, table):  # type: ignore[no-untyped-def]
    """Enter the first `count` pairs into an empty table whose length is a power of two and larger than they."""
    for local in range(count):
        table[find(nodes, trees, table, trees[local], nodes[local])] = local + 1


@kernel(
    (frozen(_I32), frozen(_I64), frozen(_I64), vector(_I64), vector(_I64), _I64, vector(_I64), vector(_I64)),
    (frozen(_I64), frozen(_I64), frozen(_I64), vector(_I64), vector(_I64), _I64, vector(_I64), vector(_I64)),
)
def number_pairs(indices, edge_ids, destinations, nodes, trees, num_nodes, table, sources):  # type: ignore[no-untyped-def]
    """Number the sources of chosen edges within the trees of their destinations; return the new count."""
    for j in range(edge_ids.shape[0]):
        node, tree = np.int64(indices[edge_ids[j]]), trees[destinations[j]]
        place = find(nodes, trees, table, tree, node)
        if table[place] == 0:
            nodes[num_nodes], trees[num_nodes] = node, tree
            num_nodes += 1
            table[place] = num_nodes
        sources[j] = table[place] - 1
    return num_nodes


@kernel(
    (frozen(_I64), frozen(_I32), frozen(_I64), frozen(_I64), vector(_I64), *(vector(_I64),) * 3),
    (frozen(_I64), frozen(_I64), frozen(_I64), frozen(_I64), vector(_I64), *(vector(_I64),) * 3),
)
def join_pairs(indptr, indices, nodes, trees, table, sources, destinations, edge_ids):  # type: ignore[no-untyped-def]
    """Write the edges between nodes of the same tree, by destination; return how many there are, written or not."""
    e = 0
    for i in range(nodes.shape[0]):
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            local = table[find(nodes, trees, table, trees[i], np.int64(indices[j]))] - 1
            if local >= 0:
                if e < edge_ids.shape[0]:
                    sources[e], destinations[e], edge_ids[e] = local, i, j
                e += 1
    return e
