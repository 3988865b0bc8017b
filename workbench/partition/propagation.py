"""Rounds in which every node joins the part of most of its neighbours, if it has room: the kernel of propagation."""

from __future__ import annotations

import numpy as np

from workbench.core.jit import kernel


@kernel
def _best_label(
    neighbours: np.ndarray, assignment: np.ndarray, counts: np.ndarray, sizes: np.ndarray, capacity: int, part: int
) -> int:
    """Return the part with room that has the highest count, its own in a tie, else the lowest."""
    best = part
    for node in neighbours:
        other = assignment[node]
        is_more = counts[other] > counts[best]
        is_lower = counts[other] == counts[best] and best != part and other < best
        if sizes[other] < capacity and (is_more or is_lower):
            best = other
    return best


@kernel
def propagate(
    starts: np.ndarray,
    adjacent: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    capacity: int,
    num_rounds: int,
    num_parts: int,
    assignment: np.ndarray,
) -> int:
    """Move nodes, in order, to the part that more of their edges lead to than to their own; return the rounds made.

    `weights` counts the edges behind each entry, or is empty: one each. No part grows beyond `capacity` nodes, and the
    last node of a part stays. Every move lowers the cut; a round without one ends it. O(m) a round.
    """
    counts = np.zeros(num_parts, dtype=np.int64)
    sizes = np.bincount(assignment, minlength=num_parts)
    is_weighted = len(weights) > 0
    for number in range(num_rounds):
        num_moved = 0
        for node in order:
            part = assignment[node]
            if sizes[part] < 2:
                continue
            neighbours = adjacent[starts[node] : starts[node + 1]]
            for slot in range(len(neighbours)):
                counts[assignment[neighbours[slot]]] += weights[starts[node] + slot] if is_weighted else 1
            best = _best_label(neighbours, assignment, counts, sizes, capacity, part)
            for other in neighbours:
                counts[assignment[other]] = 0
            if best != part:
                assignment[node] = best
                sizes[part] -= 1
                sizes[best] += 1
                num_moved += 1
        if num_moved == 0:
            return number + 1
    return num_rounds
