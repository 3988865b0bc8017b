"""The edges of a large graph for its map: bundled between cells of the map, and single ones for a closer look.

A million lines are a grey disc, and a random sample of them is one too, only paler. A bundle holds all edges between
two cells; its width tells how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.jit import kernel, read_only

if TYPE_CHECKING:
    from workbench.graph import Graph

CELLS_A_SIDE = 40
MAX_BUNDLES = 12_000  # drawn, the largest
MAX_SINGLE = 100_000  # edges that a closer look draws one by one
NO_PART = -1


Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in layout coordinates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The occupied cells of a part of the map: the cell of each node, and the mean place of the nodes of each."""

    of_node: np.ndarray  # int32 (n,), -1 outside
    middles: np.ndarray  # float (c, 2) in [0, 1]

    @classmethod
    def of(cls, positions: np.ndarray, box: Box) -> Cells:
        low, high = np.array(box[:2]), np.array(box[2:])
        shown = np.flatnonzero(is_inside(positions, box))
        places = positions[shown]
        at = np.minimum((places - low) / (high - low) * CELLS_A_SIDE, CELLS_A_SIDE - 1).astype(np.int64)
        raw = at[:, 1] * CELLS_A_SIDE + at[:, 0]
        size = np.bincount(raw, minlength=CELLS_A_SIDE**2)
        number = np.cumsum(size > 0) - 1
        sums = [np.bincount(raw, weights=axis, minlength=CELLS_A_SIDE**2) for axis in places.T]
        of_node = np.full(len(positions), -1, dtype=np.int32)
        of_node[shown] = number[raw]
        return cls(of_node=of_node, middles=np.stack(sums, axis=1)[size > 0] / size[size > 0][:, None])


def is_inside(positions: np.ndarray, box: Box) -> np.ndarray:
    """Say which nodes lie in a box."""
    inside: np.ndarray = ((positions >= box[:2]) & (positions <= box[2:])).all(axis=1)
    return inside


def pack_edges(
    graph: Graph, positions: np.ndarray, box: Sequence[float], assignments: Sequence[np.ndarray], part: int | None
) -> dict[str, Any]:
    """Return the single edges inside a box, or where they are too many the bundles in it, for every partition."""
    x0, y0, x1, y1 = (float(value) for value in box)
    single = edges_inside(graph, positions, (x0, y0, x1, y1))
    if single is not None:
        return {"edges": single, "bundles": None}
    cells = Cells.of(positions, (x0, y0, x1, y1))
    columns = [bundle(graph, cells, assignment, part) for assignment in assignments]
    middles = np.rint(cells.middles * 65535).astype(np.uint16)
    return {"edges": None, "bundles": {"middles": middles, "columns": columns}}


def bundle(graph: Graph, cells: Cells, assignment: np.ndarray, part: int | None) -> dict[str, Any]:
    """Return the bundles of one partition as arrays for the view.

    Parameters
    ----------
    part : int or None
        The selected part: its cut edges are counted apart.

    Returns
    -------
    dict
        ``pairs`` uint16 (b, 2): cells; ``counts`` uint32 (b, 3): edges inside a part, cut ones, cut ones of `part`;
        ``num_bundled``: edges in these bundles; ``num_short``: edges within a cell; ``num_bundles``: all there are.
        Edges are directed ones; of a symmetric graph pairs of directions.
    """
    num_cells = len(cells.middles)
    table = np.zeros((num_cells, num_cells, 3), dtype=np.uint32)
    topology = (read_only(graph.indptr), read_only(graph.indices))
    _count(*topology, read_only(cells.of_node), read_only(assignment), NO_PART if part is None else part, table)
    halves = 2 if graph.is_symmetric() else 1
    total = table.sum(axis=2, dtype=np.int64)
    num_short = int(total.diagonal().sum()) // halves
    np.fill_diagonal(total, 0)
    flat = total.reshape(-1)
    used = np.flatnonzero(flat)
    if len(used) > MAX_BUNDLES:
        largest = np.argpartition(-flat[used], MAX_BUNDLES)[:MAX_BUNDLES]
        kept = np.sort(used[largest])
    else:
        kept = used
    return {
        "pairs": np.stack(np.divmod(kept, num_cells), axis=1).astype(np.uint16),
        "counts": table.reshape(-1, 3)[kept] // np.uint32(halves),
        "num_bundled": int(flat[kept].sum()) // halves,
        "num_short": num_short,
        "num_bundles": len(used),
    }


def edges_inside(graph: Graph, positions: np.ndarray, box: Box) -> np.ndarray | None:
    """Return the edges with both ends in a box as uint32 pairs; None where they are too many."""
    inside = read_only(is_inside(positions, box))
    pairs = np.empty((MAX_SINGLE, 2), dtype=np.uint32)
    found = _collect(read_only(graph.indptr), read_only(graph.indices), inside, graph.is_symmetric(), pairs)
    return None if found > MAX_SINGLE else pairs[:found]


@kernel
def _count(
    indptr: np.ndarray, indices: np.ndarray, cell: np.ndarray, assignment: np.ndarray, part: int, table: np.ndarray
) -> None:
    for node in range(len(indptr) - 1):
        own, mine = cell[node], assignment[node]
        for edge in range(indptr[node], indptr[node + 1]):
            if own < 0 or cell[indices[edge]] < 0:
                continue
            other, theirs = cell[indices[edge]], assignment[indices[edge]]
            kind = 0
            if mine != theirs:
                kind = 2 if mine == part or theirs == part else 1
            table[min(own, other), max(own, other), kind] += 1


@kernel
def _collect(indptr: np.ndarray, indices: np.ndarray, inside: np.ndarray, once: bool, pairs: np.ndarray) -> int:
    found = 0
    for node in range(len(indptr) - 1):
        if not inside[node]:
            continue
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            if not inside[other] or (once and other >= node):
                continue
            if found == len(pairs):
                return found + 1
            pairs[found, 0], pairs[found, 1] = other, node
            found += 1
    return found
