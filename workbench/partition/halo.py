"""Halo and boundary: what the parts of a partition have to tell each other.

Node u is in the halo of part i when another part owns u and u is the source of an in-edge of a node of i; it is a
boundary node of its own part when any other part has it in its halo. All kernels are linear in nodes and edges
and use O(n) memory beside their result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import kernel, read_only

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_TRAFFIC_PARTS = 2048  # a dense k x k matrix of more parts would outgrow the graph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HaloCounts:
    """Counts per part, int64 (p,) each, and between parts, int64 (p, p) each.

    ``traffic[i, j]``: nodes of part j that part i reads; ``cut_edges[i, j]``: edges from part j into part i. Both are
    None beyond MAX_TRAFFIC_PARTS.
    """

    num_nodes: np.ndarray
    num_in_edges: np.ndarray  # in-edges of the part's nodes
    num_inner_edges: np.ndarray  # of them, those whose source the part owns too
    num_halo: np.ndarray  # unique remote in-neighbours: rows received a layer
    num_sent: np.ndarray  # rows sent a layer
    num_boundary: np.ndarray  # inner nodes that other parts read
    traffic: np.ndarray | None
    cut_edges: np.ndarray | None


def count_halos(graph: Graph, assignment: np.ndarray, num_parts: int) -> HaloCounts:
    """Count halo, boundary, edges and traffic of all parts in one pass over the edges."""
    order, starts = group_by_part(assignment, num_parts)
    num_in_edges, num_inner_edges, num_halo, num_sent = np.zeros((4, num_parts), dtype=np.int64)
    side = num_parts if num_parts <= MAX_TRAFFIC_PARTS else 0
    traffic, cut_edges = np.zeros((2, side, side), dtype=np.int64)
    is_read = np.zeros(len(assignment), dtype=np.bool_)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    inputs = (read_only(assignment), read_only(order), read_only(starts))
    _count(indptr, indices, *inputs, num_in_edges, num_inner_edges, num_halo, num_sent, traffic, cut_edges, is_read)
    return HaloCounts(
        num_nodes=np.diff(starts),
        num_in_edges=num_in_edges,
        num_inner_edges=num_inner_edges,
        num_halo=num_halo,
        num_sent=num_sent,
        num_boundary=np.bincount(assignment[is_read], minlength=num_parts).astype(np.int64),
        traffic=traffic if side else None,
        cut_edges=cut_edges if side else None,
    )


def group_by_part(assignment: np.ndarray, num_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes ordered by part (ascending within each) and where each part starts (p + 1)."""
    sizes = np.bincount(assignment, minlength=num_parts)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order = np.empty(len(assignment), dtype=np.int64)
    _fill_groups(read_only(assignment), starts[:-1].copy(), order)
    return order, starts


def halo_of(graph: Graph, assignment: np.ndarray, part: int, inner_nodes: np.ndarray) -> np.ndarray:
    """Return the halo of one part, ascending: int64."""
    is_halo = np.zeros(len(assignment), dtype=np.bool_)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    _mark_halo(indptr, indices, read_only(assignment), read_only(inner_nodes), part, is_halo)
    return np.flatnonzero(is_halo).astype(np.int64)


def boundary_of(graph: Graph, assignment: np.ndarray, part: int) -> np.ndarray:
    """Return the nodes of one part that any other part reads, ascending: int64."""
    is_read = np.zeros(len(assignment), dtype=np.bool_)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    _mark_boundary(indptr, indices, read_only(assignment), part, is_read)
    return np.flatnonzero(is_read).astype(np.int64)


def all_nodes_of_parts(
    graph: Graph, assignment: np.ndarray, num_parts: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return inner, halo and boundary nodes of every part, each ascending int64; two passes over the edges."""
    order, starts = group_by_part(assignment, num_parts)
    halo_starts = np.zeros(num_parts + 1, dtype=np.int64)
    is_read = np.zeros(len(assignment), dtype=np.bool_)
    topology = (read_only(graph.indptr), read_only(graph.indices))
    inputs = (*topology, read_only(assignment), read_only(order), read_only(starts))
    _collect_halos(*inputs, halo_starts, np.empty(0, dtype=np.int64), is_read)
    np.cumsum(halo_starts, out=halo_starts)
    halos = np.empty(halo_starts[-1], dtype=np.int64)
    _collect_halos(*inputs, halo_starts, halos, is_read)
    found = []
    for part in range(num_parts):
        inner = order[starts[part] : starts[part + 1]].astype(np.int64)
        found.append((inner, np.sort(halos[halo_starts[part] : halo_starts[part + 1]]), inner[is_read[inner]]))
    return found


@kernel
def _collect_halos(
    indptr: np.ndarray,
    indices: np.ndarray,
    assignment: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    halo_starts: np.ndarray,
    halos: np.ndarray,
    is_read: np.ndarray,
) -> None:
    """Count the halo of part i into ``halo_starts[i + 1]``; where `halos` has room, fill it from there instead."""
    last_reader = np.full(len(assignment), -1, dtype=np.int32)
    fill = len(halos) > 0
    for part in range(len(starts) - 1):
        slot = halo_starts[part]
        for position in range(starts[part], starts[part + 1]):
            node = order[position]
            for edge in range(indptr[node], indptr[node + 1]):
                source = indices[edge]
                if assignment[source] == part or last_reader[source] == part:
                    continue
                last_reader[source] = part
                is_read[source] = True
                if fill:
                    halos[slot] = source
                    slot += 1
                else:
                    halo_starts[part + 1] += 1


@kernel
def _fill_groups(assignment: np.ndarray, next_slot: np.ndarray, order: np.ndarray) -> None:
    for node in range(len(assignment)):
        part = assignment[node]
        order[next_slot[part]] = node
        next_slot[part] += 1


@kernel
def _count(
    indptr: np.ndarray,
    indices: np.ndarray,
    assignment: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    num_in_edges: np.ndarray,
    num_inner_edges: np.ndarray,
    num_halo: np.ndarray,
    num_sent: np.ndarray,
    traffic: np.ndarray,
    cut_edges: np.ndarray,
    is_read: np.ndarray,
) -> None:
    """Walk the parts one by one; ``last_reader[u]`` remembers the part that met u last, so u counts once a part."""
    last_reader = np.full(len(assignment), -1, dtype=np.int32)
    with_traffic = len(traffic) > 0
    for part in range(len(starts) - 1):
        for slot in range(starts[part], starts[part + 1]):
            node = order[slot]
            num_in_edges[part] += indptr[node + 1] - indptr[node]
            for edge in range(indptr[node], indptr[node + 1]):
                source = indices[edge]
                owner = assignment[source]
                if owner == part:
                    num_inner_edges[part] += 1
                    continue
                if with_traffic:
                    cut_edges[part, owner] += 1
                if last_reader[source] != part:
                    last_reader[source] = part
                    is_read[source] = True
                    num_halo[part] += 1
                    num_sent[owner] += 1
                    if with_traffic:
                        traffic[part, owner] += 1


@kernel
def _mark_halo(
    indptr: np.ndarray,
    indices: np.ndarray,
    assignment: np.ndarray,
    inner_nodes: np.ndarray,
    part: int,
    is_halo: np.ndarray,
) -> None:
    for node in inner_nodes:
        for edge in range(indptr[node], indptr[node + 1]):
            source = indices[edge]
            if assignment[source] != part:
                is_halo[source] = True


@kernel
def _mark_boundary(
    indptr: np.ndarray, indices: np.ndarray, assignment: np.ndarray, part: int, is_read: np.ndarray
) -> None:
    for node in range(len(indptr) - 1):
        if assignment[node] != part:
            for edge in range(indptr[node], indptr[node + 1]):
                source = indices[edge]
                if assignment[source] == part:
                    is_read[source] = True
