"""Replicas of a vertex-cut: in which parts a node has edges, who is their master, and what they exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.partition.halo import MAX_TRAFFIC_PARTS
from workbench.partition.node_hash import hash_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

MASTER_SALT = 0  # of the hash that chooses a node's master among its replicas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicaCounts:
    """Counts of a vertex-cut, int64.

    Parameters
    ----------
    replicas : (n,)
        Parts in which a node is: those with an edge of it; one for an isolated node.
    num_edges, num_nodes, num_masters : (p,)
        Edges, replicas and masters of each part.
    traffic : (p, p) or None
        ``traffic[i, j]``: rows that part i receives from part j a layer: partial sums to the master, results back. None
        beyond 2,048 parts.
    """

    replicas: np.ndarray
    num_edges: np.ndarray
    num_nodes: np.ndarray
    num_masters: np.ndarray
    traffic: np.ndarray | None


def count_replicas(graph: Graph, owners: np.ndarray, num_parts: int) -> ReplicaCounts:
    """Count replicas in one pass over the edges; O(m + n p) time, 8 n bytes for each 64 parts."""
    members = np.zeros((graph.num_nodes, (num_parts + 63) >> 6), dtype=np.uint64)
    _mark(read_only(graph.indptr), read_only(graph.indices), read_only(owners), members)
    side = num_parts if num_parts <= MAX_TRAFFIC_PARTS else 0
    traffic = np.zeros((side, side), dtype=np.int64)
    replicas = np.zeros(graph.num_nodes, dtype=np.int64)
    num_nodes, num_masters = np.zeros((2, num_parts), dtype=np.int64)
    keys = hash_ids(np.arange(graph.num_nodes, dtype=np.uint64), MASTER_SALT) >> np.uint64(1)
    _count_members(members, keys.astype(np.int64), num_parts, replicas, num_nodes, num_masters, traffic)
    return ReplicaCounts(
        replicas=replicas,
        num_edges=np.bincount(owners, minlength=num_parts).astype(np.int64),
        num_nodes=num_nodes,
        num_masters=num_masters,
        traffic=traffic if side else None,
    )


def nodes_of_part(graph: Graph, owners: np.ndarray, part: int) -> np.ndarray:
    """Return the nodes with an edge in one part, ascending: int64."""
    is_there = np.zeros(graph.num_nodes, dtype=np.bool_)
    _mark_part(read_only(graph.indptr), read_only(graph.indices), read_only(owners), part, is_there)
    return np.flatnonzero(is_there).astype(np.int64)


@kernel
def _mark_part(indptr: np.ndarray, indices: np.ndarray, owners: np.ndarray, part: int, is_there: np.ndarray) -> None:
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            if owners[edge] == part:
                is_there[node] = True
                is_there[indices[edge]] = True


@kernel
def _mark(indptr: np.ndarray, indices: np.ndarray, owners: np.ndarray, members: np.ndarray) -> None:
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            part = owners[edge]
            bit = np.uint64(1) << np.uint64(part & 63)
            members[node, part >> 6] |= bit
            members[indices[edge], part >> 6] |= bit


@kernel
def _count_members(
    members: np.ndarray,
    keys: np.ndarray,
    num_parts: int,
    replicas: np.ndarray,
    num_nodes: np.ndarray,
    num_masters: np.ndarray,
    traffic: np.ndarray,
) -> None:
    """The master is one of a node's replicas, by the node's key: even on average, and the same on every machine."""
    with_traffic = len(traffic) > 0
    found = np.empty(num_parts, dtype=np.int64)
    for node in range(len(replicas)):
        count = 0
        for part in range(num_parts):
            if (members[node, part >> 6] >> np.uint64(part & 63)) & np.uint64(1):
                found[count] = part
                count += 1
        if count == 0:  # isolated: it lies somewhere all the same
            found[0] = keys[node] % num_parts
            count = 1
        master = found[keys[node] % count]
        replicas[node] = count
        num_masters[master] += 1
        for slot in range(count):
            part = found[slot]
            num_nodes[part] += 1
            if with_traffic and part != master:
                traffic[master, part] += 1
                traffic[part, master] += 1
