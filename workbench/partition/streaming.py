"""One pass over the nodes, each placed for good where its placed neighbours are: the kernel of ldg and fennel."""

from __future__ import annotations

import numpy as np

from workbench.core.jit import kernel

LDG, FENNEL = 0, 1


@kernel
def _meet(neighbours: np.ndarray, assignment: np.ndarray, counts: np.ndarray, met: np.ndarray) -> int:
    """Count the placed neighbours of each part; return how many parts there are, listed in `met`."""
    num_met = 0
    for node in neighbours:
        part = assignment[node]
        if part >= 0:
            if counts[part] == 0:
                met[num_met] = part
                num_met += 1
            counts[part] += 1
    return num_met


@kernel
def _best_part(
    met: np.ndarray,
    smallest: int,
    counts: np.ndarray,
    sizes: np.ndarray,
    factor: np.ndarray,
    penalty: np.ndarray,
    capacity: float,
) -> int:
    """Return the part with room of highest score; ties go to the smaller, then to the lower part."""
    best, best_score = smallest, counts[smallest] * factor[smallest] - penalty[smallest]
    for part in met:
        if sizes[part] + 1 <= capacity:
            value = counts[part] * factor[part] - penalty[part]
            is_smaller = sizes[part] < sizes[best] or (sizes[part] == sizes[best] and part < best)
            if value > best_score or (value == best_score and is_smaller):
                best, best_score = part, value
    return best


@kernel
def stream_nodes(
    starts: np.ndarray,
    adjacent: np.ndarray,
    order: np.ndarray,
    num_parts: int,
    capacity: float,
    score: int,
    alpha: float,
    gamma: float,
    num_passes: int,
    assignment: np.ndarray,
) -> None:
    """Place every node, in order, in the part of highest score that has room; ties go to the smaller, then lower part.

    `assignment` int32 (n,) comes in as -1. Score of part i with s nodes, of which c are neighbours: LDG
    ``c (1 - s / capacity)``; FENNEL ``c - alpha gamma s^(gamma - 1)``. In a later pass a neighbour not yet placed anew
    counts where the pass before had put it, and sizes begin at zero again. A node looks at the parts of its neighbours
    and at the smallest part alone, since any other scores less: O(m + n) a pass for any number of parts.
    """
    counts = np.zeros(num_parts, dtype=np.int64)
    met = np.empty(num_parts, dtype=np.int64)
    for _ in range(num_passes):
        sizes = np.zeros(num_parts, dtype=np.int64)
        factor, penalty = np.ones(num_parts), np.zeros(num_parts)
        level, smallest = 0, 0  # the first part of `level` nodes, the least there is: sizes only grow
        for node in order:
            num_met = _meet(adjacent[starts[node] : starts[node + 1]], assignment, counts, met)
            while sizes[smallest] > level:
                smallest += 1
                if smallest == num_parts:
                    smallest = 0
                    level += 1
            best = _best_part(met[:num_met], smallest, counts, sizes, factor, penalty, capacity)
            counts[met[:num_met]] = 0
            assignment[node] = best
            sizes[best] += 1
            if score == LDG:
                factor[best] = 1.0 - sizes[best] / capacity
            else:
                penalty[best] = alpha * gamma * sizes[best] ** (gamma - 1.0)
