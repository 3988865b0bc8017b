"""What a partition changes for one sampled batch: the order of the rows, and how evenly the parts are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.core.errors import Findings
from workbench.sampling.access import LINE_BYTES, num_runs
from workbench.sampling.explosion_seeds import IdArray
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAccess:
    """A batch read in the order of the ids, and after the nodes were renumbered part by part.

    Parameters
    ----------
    num_parts : int
    num_runs, num_runs_by_part : int
        Runs of adjacent rows, each one contiguous read.
    list_lines, list_lines_by_part : int
        Distinct cache lines of the neighbour lists that hold a sampled edge.
    cut_share : float
        Sampled edges between two parts / sampled edges; 1 - 1 / parts where the assignment ignores the edges.
    batch_imbalance : float
        Sampled edges of the busiest part / mean over the parts; an edge belongs to the part that reads it.
    graph_imbalance : float
        The same for all edges of the graph.
    local_runs, local_num_nodes : int
        A batch of as many seeds from the largest part alone, in part order: its runs and its nodes.
    local_share : float
        Share of that batch's nodes that lie in the part.
    """

    num_parts: int
    num_runs: int
    num_runs_by_part: int
    list_lines: int
    list_lines_by_part: int
    cut_share: float
    batch_imbalance: float
    graph_imbalance: float
    local_runs: int
    local_num_nodes: int
    local_share: float


def part_access(
    graph: Graph,
    seed_nodes: ArrayLike,
    fanouts: Sequence[int],
    assignment: NDArray[np.integer],
    *,
    rng_seed: int = 0,
) -> PartAccess:
    """Sample one batch and count what it reads before and after reordering by part.

    Parameters
    ----------
    assignment : ndarray of int, (n,)
        Part of each node, as ``partition(...).assignment``.
    """
    seeds = _checked(graph, seed_nodes, assignment)
    num_parts = int(assignment.max()) + 1
    sampler = NeighborSampler(fanouts=tuple(fanouts))
    found = sampler.sample(graph, seeds, epoch=0, batch=0, rng_seed=rng_seed)
    source, destination = found.node_ids[found.edge_index]
    order = np.argsort(assignment, kind="stable")
    place = np.empty(graph.num_nodes, np.int64)
    place[order] = np.arange(graph.num_nodes)
    degrees = np.asarray(graph.in_degrees())
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees[order])])  # of the lists, part by part
    moved = starts[place[destination]] + found.edge_ids - graph.indptr[destination]
    reads = np.bincount(assignment[destination], minlength=num_parts)
    everything = np.bincount(assignment, weights=degrees, minlength=num_parts)
    largest = int(np.bincount(assignment).argmax())
    own = np.flatnonzero(assignment == largest)
    local_seeds = own[np.random.Generator(np.random.Philox(rng_seed)).permutation(own.size)[: seeds.size]]
    local = sampler.sample(graph, local_seeds, epoch=0, batch=1, rng_seed=rng_seed)
    return PartAccess(
        num_parts=num_parts,
        num_runs=num_runs(found.node_ids),
        num_runs_by_part=num_runs(place[found.node_ids]),
        list_lines=_lines(found.edge_ids, graph),
        list_lines_by_part=_lines(moved, graph),
        cut_share=float(np.mean(assignment[source] != assignment[destination])) if source.size else 0.0,
        batch_imbalance=_over_mean(reads),
        graph_imbalance=_over_mean(everything),
        local_runs=num_runs(place[local.node_ids]),
        local_num_nodes=local.num_nodes,
        local_share=float(np.mean(assignment[local.node_ids] == largest)),
    )


def _checked(graph: Graph, seed_nodes: ArrayLike, assignment: NDArray[np.integer]) -> IdArray:
    seeds = as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")
    findings = Findings("part_access")
    if assignment.shape != (graph.num_nodes,):
        findings.add("assignment", f"({graph.num_nodes},)", assignment.shape, "pass the partition of this graph")
    if seeds.size == 0:
        findings.add("seed_nodes", "at least one node", "none", "pass the seeds of a batch")
    findings.raise_if_any()
    return seeds


def _lines(positions: IdArray, graph: Graph) -> int:
    return int(np.unique(positions * graph.indices.dtype.itemsize // LINE_BYTES).size)


def _over_mean(work: NDArray[np.integer] | NDArray[np.floating]) -> float:
    """Return max / mean; 1 where there is nothing to do."""
    return float(work.max() / work.mean()) if work.sum() > 0 else 1.0
