"""What the partition explorer has computed: the layout, partitions by method, and what belongs to one node."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.csc import transpose
from workbench.graph.layout import GraphLayout, kept_layout, lay_out, sketch_layout
from workbench.partition import PARTITIONERS, Partition, partition
from workbench.partition.quality import PartitionQuality
from workbench.widgets.asks import Progress
from workbench.widgets.partition_names import method_label

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_KEPT = 16  # partitions kept, the least recently used goes first
REST, INNER, BOUNDARY, HALO = range(4)  # what a node is to the selected part


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which partition: the name of a method, the number of parts, the seed."""

    method: str
    num_parts: int
    rng_seed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """A partition with its quality."""

    partition: Partition
    quality: PartitionQuality


class _Signal:
    """An ask's progress as the cancel signal of long work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def is_set(self) -> bool:
        return self._progress.cancelled


class Results:
    """Computes once and remembers; partitions are used by one thread at a time, the one that answers the views."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made: OrderedDict[Choice, Made] = OrderedDict()
        self._matched: OrderedDict[Choice, tuple[Partition, Partition, Made]] = OrderedDict()
        self._layout: GraphLayout | None = None
        self._rough: GraphLayout | None = None
        self._laying_out = threading.Lock()
        self._out_edges: tuple[np.ndarray, np.ndarray] | None = None

    def has(self, choice: Choice) -> bool:
        return choice in self._made

    def forget(self) -> None:
        """Drop every partition, so that it is made and measured anew."""
        self._made.clear()
        self._matched.clear()

    def made(self, choice: Choice, progress: Progress, fraction: float = 0.0) -> Made:
        """Return the partition of a choice; `fraction` is told while it is being made."""
        if choice not in self._made:
            what = (
                f"{method_label(choice.method)}: dividing {self.graph.num_nodes:,} nodes into {choice.num_parts} parts"
            )
            progress.report(fraction, what)
            params: dict[str, Any] = {}
            if any(info.name == "rng_seed" for info in PARTITIONERS.entry(choice.method).params):
                params["rng_seed"] = choice.rng_seed
            divided = partition(self.graph, choice.num_parts, choice.method, cancel=_Signal(progress), **params)
            self._made[choice] = Made(partition=divided, quality=divided.quality())
            while len(self._made) > MAX_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(choice)
        return self._made[choice]

    def matched(self, choice: Choice, reference: Made | None, progress: Progress, fraction: float = 0.0) -> Made:
        """Return a partition with the part numbers that overlap those of `reference` most; None keeps its own."""
        made = self.made(choice, progress, fraction)
        if reference is None:
            return made
        pair = (made.partition, reference.partition)
        known = self._matched.pop(choice, None)
        if known is None or known[0] is not pair[0] or known[1] is not pair[1]:
            matched = made.partition.matched_to(reference.partition)
            known = (*pair, Made(partition=matched, quality=matched.quality()))
        self._matched[choice] = known
        while len(self._matched) > MAX_KEPT:
            self._matched.popitem(last=False)
        return known[2]

    def side_by_side(self, choices: Sequence[Choice], progress: Progress) -> tuple[Made, ...]:
        """Return partitions whose part numbers follow one another.

        The first choice with its number of parts follows the first with the number before; the others follow the
        first with as many parts as they have.
        """
        first: dict[int, Made] = {}
        shown: list[Made] = []
        for index, choice in enumerate(choices):
            progress.raise_if_cancelled()
            reference = first.get(choice.num_parts) or (list(first.values())[-1] if first else None)
            shown.append(self.matched(choice, reference, progress, index / len(choices)))
            first.setdefault(choice.num_parts, shown[-1])
        return tuple(shown)

    def layout(self, progress: Progress) -> GraphLayout:
        """Return where the nodes are drawn; any thread may ask."""
        while not self._laying_out.acquire(timeout=0.1):
            progress.raise_if_cancelled()
        try:
            if self._layout is None:
                self._layout = lay_out(self.graph, progress=progress.report, cancel=_Signal(progress))
            return self._layout
        finally:
            self._laying_out.release()

    def sketch(self, progress: Progress) -> GraphLayout | None:
        """Return what can be drawn of a large graph until it is laid out; None where that is known or as fast."""
        if self._layout is None:
            self._layout = kept_layout(self.graph)
        if self._layout is None and self._rough is None:
            self._rough = sketch_layout(self.graph, cancel=_Signal(progress))
        return None if self._layout is not None else self._rough

    @property
    def has_layout(self) -> bool:
        return self._layout is not None

    def readers(self, node: int, assignment: np.ndarray) -> np.ndarray:
        """Return the parts other than its own that read a node: int, ascending."""
        if self._out_edges is None:
            graph = self.graph
            symmetric = graph.is_symmetric()
            self._out_edges = (graph.indptr, graph.indices) if symmetric else transpose(graph.indptr, graph.indices)
        indptr, indices = self._out_edges
        parts = np.unique(assignment[indices[indptr[node] : indptr[node + 1]]])
        return parts[parts != assignment[node]]


def roles(divided: Partition, part: int) -> np.ndarray | None:
    """Return what every node is to one part: uint8 (n,), REST, INNER, BOUNDARY or HALO; None without that part."""
    if part >= divided.num_parts:
        return None
    members = divided.part(part)
    role = np.zeros(divided.graph.num_nodes, dtype=np.uint8)
    role[members.inner_nodes] = INNER
    role[members.boundary_nodes] = BOUNDARY
    role[members.halo_nodes] = HALO
    return role


def nodes_inside(positions: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Return the ids of the nodes inside a polygon (even-odd rule): int64, ascending."""
    low, high = polygon.min(axis=0), polygon.max(axis=0)
    near = np.flatnonzero(((positions >= low) & (positions <= high)).all(axis=1))
    x, y = positions[near].T.astype(np.float64)
    inside = np.zeros(len(near), dtype=np.bool_)
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y1 != y2:
            inside ^= ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return near[inside].astype(np.int64)
