"""Compiled kernels of the streamed R-MAT: every edge is a pure function of its number, so none has to be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.jit import kernel

Array = NDArray[Any]
Word = np.uint64
BLOCK = 2048  # edges drawn together: their words stay in the first-level cache, and the loops over them are vectorised
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LEVELS_A_WORD = 4  # a level takes 16 of the 64 bits of a word
_ODD = np.uint64(0x9E3779B1)


@kernel
def _draw(
    key: Word, first: int, count: int, levels: int, cuts: Array, words: Array, source: Array, destination: Array
) -> None:
    """Draw edges `first` to ``first + count``: one quarter of the matrix a level, by 16 random bits each.

    The bits are SplitMix64 of (key, number of the edge, number of the word). `cuts` (3,) are the bounds a, a + b,
    a + b + c times 2^16.
    """
    words_an_edge = np.uint64((levels + _LEVELS_A_WORD - 1) // _LEVELS_A_WORD)
    cut_a, cut_b, cut_c = cuts[0], cuts[1], cuts[2]
    for i in range(count):
        source[i] = 0
        destination[i] = 0
    for level in range(levels):
        if level % _LEVELS_A_WORD == 0:
            at = np.uint64(first) * words_an_edge + np.uint64(level // _LEVELS_A_WORD)
            for i in range(count):
                word = key + (at + np.uint64(i) * words_an_edge) * _GOLDEN
                word = (word ^ (word >> np.uint64(30))) * _MIX_1
                word = (word ^ (word >> np.uint64(27))) * _MIX_2
                words[i] = word ^ (word >> np.uint64(31))
        for i in range(count):
            u = np.uint32(words[i] & np.uint64(0xFFFF))
            words[i] >>= np.uint64(16)
            below = np.uint32(u >= cut_b)
            source[i] = (source[i] << np.uint32(1)) | below
            destination[i] = (destination[i] << np.uint32(1)) | (np.uint32(u >= cut_a) ^ below ^ np.uint32(u >= cut_c))


@kernel
def _scatter_ids(ids: Array, count: int, levels: int, num_nodes: int, key: Word) -> None:
    """Permute ids of `levels` bits, so that an id says nothing of its degree, and fold them onto `num_nodes`."""
    mask = np.uint32((np.uint64(1) << np.uint64(levels)) - np.uint64(1))
    half = np.uint32(levels // 2 + 1)
    turn, odd, size = np.uint32(key) & mask, np.uint32(_ODD), np.uint32(num_nodes)
    for i in range(count):
        v = ids[i] ^ turn
        for _ in range(3):  # each step is one to one on `levels` bits
            v = (v * odd) & mask
            v ^= v >> half
        ids[i] = v - size if v >= size else v


@kernel
def draw_edges(
    key: Word,
    first: int,
    count: int,
    levels: int,
    cuts: Array,
    num_nodes: int,
    words: Array,
    source: Array,
    destination: Array,
) -> None:
    """Draw a block of edges into `source` and `destination` (uint32, at least count), as node ids."""
    _draw(key, first, count, levels, cuts, words, source, destination)
    _scatter_ids(source, count, levels, num_nodes, key)
    _scatter_ids(destination, count, levels, num_nodes, key)


@kernel
def count_destinations(
    key: Word, start: int, stop: int, levels: int, cuts: Array, num_nodes: int, counts: Array
) -> None:
    """Add the edges `start` to `stop` to the in-degrees `counts` (uint32, n)."""
    words, source, destination = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    for first in range(start, stop, BLOCK):
        count = min(BLOCK, stop - first)
        _draw(key, first, count, levels, cuts, words, source, destination)
        _scatter_ids(destination, count, levels, num_nodes, key)
        for i in range(count):
            counts[destination[i]] += np.uint32(1)


@kernel
def place_sources(
    key: Word, start: int, stop: int, levels: int, cuts: Array, num_nodes: int, low: int, cursor: Array, out: Array
) -> None:
    """Write the sources of those edges that end at nodes ``low`` to ``low + len(cursor)`` to their places.

    `cursor` (int64) holds the next free place of each of these nodes in `out` and moves on.
    """
    words, source, destination = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    kept = np.empty(BLOCK, np.int32)
    size = np.uint32(cursor.shape[0])
    begin = np.uint32(low)
    for first in range(start, stop, BLOCK):
        count = min(BLOCK, stop - first)
        draw_edges(key, first, count, levels, cuts, num_nodes, words, source, destination)
        num_kept = 0
        for i in range(count):  # without a branch: which bucket an edge falls into cannot be foretold
            kept[num_kept] = i
            num_kept += int(destination[i] - begin < size)
        for j in range(num_kept):
            i = kept[j]
            node = destination[i] - begin
            out[cursor[node]] = source[i]
            cursor[node] += 1


@kernel
def sort_lists(starts: Array, base: int, sources: Array) -> None:
    """Sort the sources of each node: list i lies at ``starts[i] - base`` to ``starts[i + 1] - base``."""
    for i in range(starts.shape[0] - 1):
        begin, end = starts[i] - base, starts[i + 1] - base
        if end - begin > 32:
            sources[begin:end].sort()
            continue
        for j in range(begin + 1, end):
            value = sources[j]
            k = j
            while k > begin and sources[k - 1] > value:
                sources[k] = sources[k - 1]
                k -= 1
            sources[k] = value
