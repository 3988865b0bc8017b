"""A vertex-cut: every edge given to one part, every node replicated in the parts that have an edge of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from workbench.core.errors import Findings
from workbench.core.units import format_seconds
from workbench.partition.owners import owners_in_range, part_in_range
from workbench.partition.replicas import nodes_of_part
from workbench.partition.saved import open_array, save_array

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.partition.edge_quality import EdgePartitionQuality

_OF_NODES = frozenset({"assignment", "matched_to", "parts", "repaired_parts", "write_parts"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgePart:
    """What one part of a vertex-cut holds: ids, ascending, int64.

    Parameters
    ----------
    edge_ids : ndarray
        Edges that the part owns.
    node_ids : ndarray
        Nodes with an edge there, each a replica: those that other parts have too are added up over the parts a layer.
    """

    id: int
    edge_ids: np.ndarray
    node_ids: np.ndarray

    def __repr__(self) -> str:
        return f"EdgePart({self.id}: {len(self.edge_ids):,} edges, {len(self.node_ids):,} nodes)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgePartition:
    """Every edge of a graph given to one of `num_parts` parts; nodes are replicated.

    What wants an owner of every node (halos, clusters, partition-parallel training) refuses it: its ``assignment``,
    which a :class:`Partition` has, is an error that says so.

    Parameters
    ----------
    graph : Graph
    edge_assignment : int32 (m,)
        The part that owns each edge, by edge id; read-only.
    num_parts, method, params, fingerprint, elapsed_s, peak_memory_bytes
        As those of a :class:`Partition`.
    """

    graph: Graph
    edge_assignment: np.ndarray
    num_parts: int
    method: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    fingerprint: str
    elapsed_s: float = 0.0
    peak_memory_bytes: int = 0

    def __post_init__(self) -> None:
        owners = owners_in_range(self.edge_assignment, self.graph.num_edges, self.num_parts, "EdgePartition", "edge")
        object.__setattr__(self, "edge_assignment", owners)

    @property
    def empty_parts(self) -> tuple[int, ...]:
        """Parts without an edge."""
        counts = np.bincount(self.edge_assignment, minlength=self.num_parts)
        return tuple(int(part) for part in np.flatnonzero(counts == 0))

    def part(self, part: int) -> EdgePart:
        """Return the edges and nodes of one part; O(n + m)."""
        part = part_in_range(part, self.num_parts, "EdgePartition.part")
        edge_ids = np.flatnonzero(self.edge_assignment == part).astype(np.int64)
        return EdgePart(id=part, edge_ids=edge_ids, node_ids=nodes_of_part(self.graph, self.edge_assignment, part))

    def quality(self) -> EdgePartitionQuality:
        """Compute what the partition costs: replication, balance, traffic; one pass over the edges."""
        from workbench.partition.edge_quality import measure_edge_quality

        return measure_edge_quality(self)

    def save(self, folder: str | Path) -> Path:
        """Write ``edge_assignment.npy`` and ``partition.json`` into a folder and return it."""
        record = {
            "num_parts": self.num_parts,
            "method": self.method,
            "params": dict(self.params),
            "fingerprint": self.fingerprint,
            "elapsed_s": self.elapsed_s,
            "peak_memory_bytes": self.peak_memory_bytes,
        }
        return save_array(folder, "edge_assignment", self.edge_assignment, record)

    @classmethod
    def open(cls, folder: str | Path, graph: Graph) -> Self:
        """Open a saved partition of `graph`; another graph, or a torn or altered file, is refused."""
        owners, record = open_array(folder, "edge_assignment", graph, cls)
        return cls(graph=graph, edge_assignment=owners, **record)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_NODES:
            findings = Findings(f"EdgePartition.{name}")
            got = f"a vertex-cut: {self.method!r} gives every edge an owner and replicates nodes"
            fix = "use a method that divides nodes, such as 'metis', or edge_assignment"
            findings.add("partition", "an owner of every node", got, fix)
            findings.raise_if_any()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        sizes = np.bincount(self.edge_assignment, minlength=self.num_parts)
        empty = f", parts {list(self.empty_parts)} have none" if self.empty_parts else ""
        return (
            f"EdgePartition({self.graph.name!r}, {self.method}, {self.num_parts} parts of {sizes.min():,} to "
            f"{sizes.max():,} edges, made in {format_seconds(self.elapsed_s)}{empty})"
        )
