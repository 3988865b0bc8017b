"""Neighbour sampling in plain NumPy: vectorised over the frontier of a hop, no loop over nodes or edges.

A frontier is split: nodes of at most `fanout` in-edges keep them all; for the others Floyd's algorithm runs over a
table with a row a node and a column a draw, so that there are `fanout` steps a hop.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class NumpySampler:
    """Samples a batch with arrays alone; the map from global to local ids is one array over all nodes."""

    def __init__(self, indptr: Any, indices: Any, fanouts: tuple[int, ...], rng_seed: int = 0) -> None:
        self.indptr, self.indices, self.fanouts = indptr, indices, fanouts
        self.local = np.full(len(indptr) - 1, -1, np.int64)
        self.rng = np.random.default_rng(rng_seed)

    def __call__(self, seeds: Any) -> tuple[Any, Any, Any]:
        """Return node ids, local edge index and edge ids."""
        nodes, frontier, edges = [seeds], seeds, []
        self.local[seeds] = np.arange(len(seeds))
        count = len(seeds)
        for fanout in self.fanouts:
            edge_ids, owner = self._draw(frontier, fanout)
            sources = self.indices[edge_ids]
            new, first = np.unique(sources[self.local[sources] < 0], return_index=True)
            new = new[np.argsort(first)].astype(np.int64)  # in the order of discovery
            self.local[new] = count + np.arange(len(new))
            edges.append((self.local[sources], self.local[frontier[owner]], edge_ids))
            count += len(new)
            frontier = new
            nodes.append(new)
        node_ids = np.concatenate(nodes)
        self.local[node_ids] = -1
        source, destination, edge_ids = (np.concatenate(part) for part in zip(*edges, strict=True))
        return node_ids, np.stack([source, destination]), edge_ids

    def _draw(self, frontier: Any, fanout: int) -> tuple[Any, Any]:
        """Return edge ids and the position of their destination in the frontier."""
        starts = self.indptr[frontier]
        degrees = self.indptr[frontier + 1] - starts
        few, many = np.flatnonzero(degrees <= fanout), np.flatnonzero(degrees > fanout)
        owner_of_few = np.repeat(few, degrees[few])
        ends = np.cumsum(degrees[few])
        all_of_few = np.arange(len(owner_of_few)) + np.repeat(starts[few] - ends + degrees[few], degrees[few])
        picks = np.empty((len(many), fanout), np.int64)
        for i in range(fanout):
            largest = degrees[many] - fanout + i
            drawn = (self.rng.random(len(many)) * (largest + 1)).astype(np.int64)
            again = (picks[:, :i] == drawn[:, None]).any(axis=1)
            picks[:, i] = np.where(again, largest, drawn)
        edge_ids = np.concatenate([all_of_few, (starts[many][:, None] + picks).reshape(-1)])
        return edge_ids, np.concatenate([owner_of_few, np.repeat(many, fanout)])
