"""Which of several owners a cluster belongs to: dealt out once, so that clusters stay with their worker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]


def cluster_loads(
    graph: Topology, clusters: NDArray[np.int32], seed_nodes: Ids, num_clusters: int
) -> NDArray[np.float64]:
    """Return the work of each cluster, float64 (num_clusters): its share of seed nodes plus its share of in-edges."""
    seeds = np.bincount(clusters[seed_nodes], minlength=num_clusters)
    edges = np.bincount(clusters, weights=np.diff(graph.indptr), minlength=num_clusters)
    load: NDArray[np.float64] = seeds / max(1, seeds.sum()) + edges / max(1.0, edges.sum())
    return load


def deal_clusters(loads: NDArray[np.float64], num_owners: int) -> list[Ids]:
    """Return each owner's clusters, ascending: their numbers differ by at most one, and their loads little.

    The largest cluster that is left goes to the owner with the least load that has room (Graham's longest processing
    time first, with a bound on the count).
    """
    rest, num_longer = divmod(len(loads), num_owners)
    owned: list[list[int]] = [[] for _ in range(num_owners)]
    sums = np.zeros(num_owners)
    for cluster in np.argsort(-loads, kind="stable").tolist():
        room = [len(own) < rest + (num_longer > 0) for own in owned]
        owner = int(np.argmin(np.where(room, sums, np.inf)))
        num_longer -= len(owned[owner]) == rest
        owned[owner].append(cluster)
        sums[owner] += loads[cluster]
    return [np.array(sorted(own), np.int64) for own in owned]
