"""Batches of histories: a set of own nodes with all their in-edges, and which sets a rank takes in which step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import generator

if TYPE_CHECKING:
    from workbench.graph import Graph

Ids = NDArray[np.int64]
_REGROUP = 0x6A5  # sets the stream of the clusters' order apart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistoryBatch:
    """A set of nodes with all their in-edges.

    Parameters
    ----------
    node_ids : array, int64 (k)
        Global ids: own nodes (first, ascending), then the other sources of their in-edges, ascending.
    num_own : int
    edge_index : array, int64 (2, e)
        ``[source, destination]`` as positions in `node_ids`; destinations are below `num_own`.
    edge_ids : array, int64 (e)
        Of the graph's edges.
    """

    node_ids: Ids
    num_own: int
    edge_index: Ids
    edge_ids: Ids

    @property
    def halo_ids(self) -> Ids:
        return self.node_ids[self.num_own :]


def batch_of(graph: Graph, own: Ids) -> HistoryBatch:
    """Return the batch of some nodes (ascending ids)."""
    begins, ends = graph.indptr[own].astype(np.int64), graph.indptr[own + 1].astype(np.int64)
    counts = ends - begins
    offsets = np.cumsum(counts) - counts
    edge_ids = np.arange(int(counts.sum())) + np.repeat(begins - offsets, counts)
    sources = np.asarray(graph.indices[edge_ids]).astype(np.int64)
    halo = np.setdiff1d(sources, own)
    node_ids = np.concatenate([own, halo])
    # Both halves ascend: a position is found by looking for it in either.
    in_own = np.searchsorted(own, sources)
    is_own = own[np.minimum(in_own, max(len(own) - 1, 0))] == sources if len(own) else np.zeros(len(sources), bool)
    local = np.where(is_own, in_own, len(own) + np.searchsorted(halo, sources))
    destinations = np.repeat(np.arange(len(own)), counts)
    edge_index = np.stack([local, destinations])
    return HistoryBatch(node_ids=node_ids, num_own=len(own), edge_index=edge_index, edge_ids=edge_ids)


class ClusterDeal:
    """Which nodes are a rank's own in each step: a few of its clusters, regrouped every epoch.

    Parameters
    ----------
    clusters : array, int32 (n)
        The cluster of each node.
    owned : list of array
        The clusters of each rank.
    clusters_per_batch : int
    rank : int
    rng_seed : int
    """

    def __init__(
        self, clusters: NDArray[np.int32], owned: list[Ids], clusters_per_batch: int, rank: int, rng_seed: int
    ) -> None:
        self._own, self._per_batch, self._rank, self._rng_seed = owned[rank], clusters_per_batch, rank, rng_seed
        self.steps_per_epoch = max(1, -(-max(len(own) for own in owned) // clusters_per_batch))
        owner_of_cluster = np.zeros(sum(map(len, owned)), np.int32)
        for owner, own in enumerate(owned):
            owner_of_cluster[own] = owner
        self.owners = owner_of_cluster[clusters]  # (n,) rank that owns each node
        self._members = np.argsort(clusters, kind="stable")
        self._begins = np.searchsorted(clusters[self._members], np.arange(len(owner_of_cluster) + 1))

    def own_nodes(self, epoch: int, step_in_epoch: int) -> Ids:
        """Return the nodes of a step (from 0), ascending; none where this rank has no cluster left."""
        order = generator(self._rng_seed, epoch, _REGROUP, self._rank).permutation(self._own)
        chosen = order[step_in_epoch * self._per_batch : (step_in_epoch + 1) * self._per_batch]
        parts = [self._members[self._begins[c] : self._begins[c + 1]] for c in chosen.tolist()]
        return np.sort(np.concatenate(parts)).astype(np.int64) if parts else np.zeros(0, np.int64)


def positions_at_owners(owners: NDArray[np.int32], num_ranks: int) -> Ids:
    """Return (n,) the position of each node among those of its owner, ascending by id."""
    order = np.argsort(owners, kind="stable")
    begins = np.searchsorted(owners[order], np.arange(num_ranks))
    positions = np.empty(len(owners), np.int64)
    positions[order] = np.arange(len(owners)) - begins[owners[order]]
    return positions
