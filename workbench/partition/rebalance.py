"""Moves of nodes out of parts that are too heavy, one by one, where they cost least."""

from __future__ import annotations

import numpy as np

from workbench.core.jit import kernel, read_only

MAX_ROUNDS = 20


def rebalance(
    topology: tuple[np.ndarray, np.ndarray],
    assignment: np.ndarray,
    node_weights: np.ndarray,
    num_parts: int,
    imbalance: float,
) -> np.ndarray:
    """Return an assignment whose parts keep to their limit in every constraint, as far as single moves lead there.

    Parameters
    ----------
    topology : (starts, adjacent)
        Symmetric, without loops.
    assignment : int32 (n,)
        Returned as it is where nothing is too heavy.
    node_weights : int64 (n, constraints)
    num_parts : int
    imbalance : float
        How much heavier than the mean a part may be, 0.05 for 5%.

    Notes
    -----
    A node leaves a part that is too heavy for the part with most of its neighbours among those that have room for it
    in every constraint. Up to 20 rounds over the nodes; deterministic; O(rounds (n p + m)) where there is work to do.
    """
    means = node_weights.sum(axis=0) / num_parts
    limits = np.ceil(means * (1 + imbalance))
    loads = part_loads(assignment, node_weights, num_parts)
    if np.all(loads <= limits):
        return assignment
    moved = assignment.copy()
    starts, adjacent = (read_only(array) for array in topology)
    _move(starts, adjacent, read_only(node_weights), limits, loads, moved, MAX_ROUNDS)
    return moved


def part_loads(assignment: np.ndarray, node_weights: np.ndarray, num_parts: int) -> np.ndarray:
    """Return the weight of every part in every constraint: float64 (parts, constraints)."""
    columns = [np.bincount(assignment, weights=column, minlength=num_parts) for column in node_weights.T]
    return np.stack(columns, axis=1)


@kernel
def _helps(weights: np.ndarray, loads: np.ndarray, limits: np.ndarray) -> bool:
    """Say whether a node of these weights makes a part of these loads less too heavy by leaving it."""
    return bool(np.any((loads > limits) & (weights > 0)))


@kernel
def _best_room(counts: np.ndarray, weights: np.ndarray, loads: np.ndarray, limits: np.ndarray, part: int) -> int:
    """Return the other part of most neighbours that has room in every constraint; -1: none."""
    best, most = -1, -1
    for other in range(len(counts)):
        if other == part or counts[other] <= most:
            continue
        if np.all((weights == 0) | (loads[other] + weights <= limits)):
            best, most = other, counts[other]
    return best


@kernel
def _move(
    starts: np.ndarray,
    adjacent: np.ndarray,
    node_weights: np.ndarray,
    limits: np.ndarray,
    loads: np.ndarray,
    assignment: np.ndarray,
    num_rounds: int,
) -> None:
    counts = np.zeros(len(loads), dtype=np.int64)
    sizes = np.bincount(assignment, minlength=len(loads))
    for number in range(num_rounds):
        num_moved = 0
        for node in range(len(assignment)):
            part, weights = assignment[node], node_weights[node]
            if sizes[part] < 2 or not _helps(weights, loads[part], limits):
                continue
            neighbours = adjacent[starts[node] : starts[node + 1]]
            for other in neighbours:
                counts[assignment[other]] += 1
            best = _best_room(counts, weights, loads, limits, part)
            # In the first rounds only nodes move that have a neighbour there: the cut stays small.
            is_near = best >= 0 and counts[best] > 0
            for other in neighbours:
                counts[assignment[other]] = 0
            if is_near or (best >= 0 and number > 1):
                assignment[node] = best
                sizes[part] -= 1
                sizes[best] += 1
                loads[part] -= weights
                loads[best] += weights
                num_moved += 1
        if num_moved == 0 and number > 1:
            return
