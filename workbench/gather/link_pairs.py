"""Pairs of nodes to score: seed edges, and negatives that are no edges; a function of the key, whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import GOLDEN
from workbench.gather.link_split import LinkSplit

Ids = NDArray[np.int64]
NO_NODE = -1  # no negative exists: the source is joined to every node
_NEGATIVES, _TURNED = 0x2E6A, 0x7093  # set the streams apart
_TRIES = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Seed edges, then their negatives.

    Parameters
    ----------
    ends : array, int64 (2, p)
        Sources and destinations, global ids.
    targets : array, float32 (p)
        1 for an edge, 0 for a negative.
    weights : array, float64 (p)
        Factors of the losses: those of a seed edge and its negatives add up to 1.
    """

    ends: Ids
    targets: NDArray[np.float32]
    weights: NDArray[np.float64]


def training_pairs(split: LinkSplit, ids: Ids, *, num_negatives: int, epoch: int, rng_seed: int) -> Pairs:
    """Return the training pairs `ids` (positions in ``split.train_pairs``) with their negatives.

    Negatives keep the source and draw the destination uniformly among the nodes that it has no edge to (in the whole
    graph) and that is not itself. They follow from (rng_seed, epoch, pair) alone, so they are the same in whatever
    batch the pair comes. In a symmetric graph it is drawn which end is the source.
    """
    key = (rng_seed, epoch)
    source, destination = oriented(split, split.train_pairs[:, ids], ids, key)
    drawn = negatives(split, source, ids, num_negatives, key)
    there = drawn != NO_NODE
    share = 1.0 / (1 + there.sum(axis=1))
    every = np.broadcast_to(source[:, None], drawn.shape)
    ends = np.stack([np.concatenate([source, every[there]]), np.concatenate([destination, drawn[there]])])
    return Pairs(
        ends=ends,
        targets=np.repeat(np.array([1, 0], np.float32), [len(source), int(there.sum())]),
        weights=np.concatenate([share, np.broadcast_to(share[:, None], drawn.shape)[there]]),
    )


def oriented(split: LinkSplit, pairs: Ids, ids: Ids, key: tuple[int, ...]) -> tuple[Ids, Ids]:
    """Return sources and destinations: as they are in a directed graph, else by a coin keyed by (key, pair)."""
    if not split.symmetric:
        return pairs[0], pairs[1]
    turned = hashed(*key, _TURNED, ids) % np.uint64(2) == 1
    return np.where(turned, pairs[1], pairs[0]), np.where(turned, pairs[0], pairs[1])


def negatives(split: LinkSplit, source: Ids, ids: Ids, count: int, key: tuple[int, ...]) -> Ids:
    """Return `count` destinations for each source that are no edges of it: (k, count), ``NO_NODE`` where none exists.

    Parameters
    ----------
    source : array, int64 (k)
    ids : array, int64 (k)
        What, beside `key`, each row's randomness is a function of.
    """
    num_nodes = np.uint64(split.messages.num_nodes)
    found = np.full((len(source), count), NO_NODE, np.int64)
    row, slot = np.nonzero(found == NO_NODE)
    for attempt in range(_TRIES):
        if not len(row):
            return found
        drawn = (hashed(*key, _NEGATIVES, ids[row], slot, attempt) % num_nodes).astype(np.int64)
        good = (drawn != source[row]) & ~is_edge(split, source[row], drawn)
        found[row[good], slot[good]] = drawn[good]
        row, slot = row[~good], slot[~good]
    for node in np.unique(source[row]):  # joined to most nodes: choose among the few that are left
        own = source[row] == node
        free = _free_of(split, int(node))
        if len(free):
            at = hashed(*key, _NEGATIVES, ids[row[own]], slot[own], _TRIES) % np.uint64(len(free))
            found[row[own], slot[own]] = free[at.astype(np.int64)]
    return found


def is_edge(split: LinkSplit, source: Ids, destination: Ids) -> NDArray[np.bool_]:
    """Say for each pair whether the whole graph has an edge from source to destination."""
    keys = source * split.messages.num_nodes + destination
    if not len(split.edge_keys):
        return np.zeros(len(keys), bool)
    at = np.searchsorted(split.edge_keys, keys).clip(max=len(split.edge_keys) - 1)
    same: NDArray[np.bool_] = split.edge_keys[at] == keys
    return same


def _free_of(split: LinkSplit, node: int) -> Ids:
    """Return the nodes that `node` has no edge to, itself left out."""
    num_nodes = split.messages.num_nodes
    begin, end = np.searchsorted(split.edge_keys, [node * num_nodes, (node + 1) * num_nodes])
    free = np.ones(num_nodes, bool)
    free[split.edge_keys[begin:end] - node * num_nodes] = False
    free[node] = False
    return np.flatnonzero(free)


def hashed(*parts: Any) -> NDArray[np.uint64]:
    """Return :func:`workbench.core.rng.key64` of each row of its parts, numbers or arrays, which are broadcast."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(part, np.int64)) for part in parts))
    state = np.zeros(arrays[0].shape, np.uint64)
    for part in arrays:
        state = _mix64(state + np.uint64(GOLDEN) + part.astype(np.uint64))
    return state


def _mix64(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
