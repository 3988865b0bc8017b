"""A hierarchy of ever coarser graphs for a layout: small clusters of neighbours, again and again.

Clusters grow by label propagation with a size limit (Raghavan, Albert & Kumara 2007), so that a hub does not swallow
its leaves; nodes that stay alone join others that hang on the same neighbour (METIS's two-hop matching).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from workbench.core.jit import kernel, read_only
from workbench.core.rng import generator
from workbench.graph.symmetric import clear_loops

CLUSTER_SIZE = 8  # members a cluster has at most, of the level below
MIN_SHRINKAGE = 0.9  # a level that keeps more of its nodes than this is not worth having


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """One graph of the hierarchy: symmetric, without loops.

    ``parent[v]`` is the node of the next coarser level that stands for v (empty at the coarsest level); `mass` counts
    the nodes of the finest graph that a node stands for.
    """

    starts: np.ndarray
    adjacent: np.ndarray
    weights: np.ndarray  # float32, one an entry
    mass: np.ndarray  # float32, one a node
    parent: np.ndarray  # int64, one a node

    @property
    def num_nodes(self) -> int:
        return len(self.mass)


def build_levels(
    starts: np.ndarray,
    adjacent: np.ndarray,
    weights: np.ndarray,
    *,
    max_coarsest: int,
    rng_seed: int,
    tick: Callable[[], None] = lambda: None,
) -> list[Level]:
    """Coarsen until at most `max_coarsest` nodes are left, or nothing joins any more; finest level first.

    `tick` is called before every level and may raise.
    """
    mass = np.ones(len(starts) - 1, dtype=np.float32)
    levels: list[Level] = []
    while len(mass) > max_coarsest:
        tick()
        parent = _cluster(starts, adjacent, weights, generator(rng_seed, len(levels)))
        num_clusters = int(parent.max()) + 1
        if num_clusters > MIN_SHRINKAGE * len(mass):
            break
        levels.append(Level(starts=starts, adjacent=adjacent, weights=weights, mass=mass, parent=parent))
        starts, adjacent, weights = _contract(starts, adjacent, weights, parent, num_clusters)
        mass = np.bincount(parent, weights=mass, minlength=num_clusters).astype(np.float32)
    none = np.zeros(0, dtype=np.int64)
    levels.append(Level(starts=starts, adjacent=adjacent, weights=weights, mass=mass, parent=none))
    return levels


def _cluster(starts: np.ndarray, adjacent: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    num_nodes = len(starts) - 1
    label = np.arange(num_nodes, dtype=np.int64)
    order = rng.permutation(num_nodes)
    inputs = (read_only(starts), read_only(adjacent), read_only(weights), read_only(order))
    _propagate_labels(*inputs, label, CLUSTER_SIZE, 3)
    _join_singles(*inputs[:3], label, CLUSTER_SIZE)
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _contract(
    starts: np.ndarray, adjacent: np.ndarray, weights: np.ndarray, parent: np.ndarray, num_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the graph of the clusters: weights add up, loops go."""
    num_nodes = len(starts) - 1
    fine = sparse.csr_array((weights, adjacent, starts), shape=(num_nodes, num_nodes))
    ones = np.ones(num_nodes, dtype=np.float32)
    belongs = sparse.csr_array((ones, (np.arange(num_nodes), parent)), shape=(num_nodes, num_clusters))
    coarse = (belongs.T @ fine @ belongs).tocsr()
    coarse.sort_indices()
    clear_loops(read_only(coarse.indptr), read_only(coarse.indices), coarse.data)
    coarse.eliminate_zeros()
    return coarse.indptr.astype(np.int64), coarse.indices, coarse.data


@kernel
def _propagate_labels(
    starts: np.ndarray,
    adjacent: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    label: np.ndarray,
    max_size: int,
    num_sweeps: int,
) -> None:
    """Let each node join the cluster to which its edges weigh most per member, while that has room."""
    num_nodes = len(label)
    size = np.ones(num_nodes, dtype=np.int64)
    score = np.zeros(num_nodes, dtype=np.float64)
    for _ in range(num_sweeps):
        moved = 0
        for slot in range(num_nodes):
            node = order[slot]
            own = label[node]
            for edge in range(starts[node], starts[node + 1]):
                # A heavy neighbour is a weak tie: divide by what it shares with all others.
                other = adjacent[edge]
                score[label[other]] += weights[edge] / (starts[other + 1] - starts[other])
            best, best_score = own, score[own]
            for edge in range(starts[node], starts[node + 1]):
                candidate = label[adjacent[edge]]
                value = score[candidate]
                if candidate != own and size[candidate] < max_size and value > best_score:
                    best, best_score = candidate, value
            for edge in range(starts[node], starts[node + 1]):
                score[label[adjacent[edge]]] = 0.0
            if best != own:
                label[node] = best
                size[own] -= 1
                size[best] += 1
                moved += 1
        if moved * 50 < num_nodes:
            break


@kernel
def _join_singles(
    starts: np.ndarray, adjacent: np.ndarray, weights: np.ndarray, label: np.ndarray, max_size: int
) -> None:
    """Join nodes that are alone in their cluster with others that are alone on the same heaviest neighbour."""
    num_nodes = len(label)
    size = np.zeros(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        size[label[node]] += 1
    open_cluster = np.full(num_nodes, -1, dtype=np.int64)
    filled = np.zeros(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        if size[label[node]] != 1 or starts[node] == starts[node + 1]:
            continue
        hub, heaviest = -1, -1.0
        for edge in range(starts[node], starts[node + 1]):
            if weights[edge] > heaviest:
                hub, heaviest = adjacent[edge], weights[edge]
        if open_cluster[hub] < 0 or filled[hub] >= max_size:
            open_cluster[hub], filled[hub] = label[node], 1
        else:
            label[node] = open_cluster[hub]
            filled[hub] += 1
