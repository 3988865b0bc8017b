"""A partition of a graph, and one part of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from workbench.core.errors import Findings
from workbench.core.units import format_seconds
from workbench.partition.halo import all_nodes_of_parts, boundary_of, halo_of
from workbench.partition.match import match_parts
from workbench.partition.owners import owners_in_range, part_in_range
from workbench.partition.saved import open_array, save_array

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.partition.quality import PartitionQuality


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """What one part owns and what it needs: global ids, ascending, int64.

    Parameters
    ----------
    inner_nodes : ndarray
        Nodes that the part owns.
    halo_nodes : ndarray
        Nodes of other parts that are in-neighbours of its own: read every layer, never counted in its loss.
    boundary_nodes : ndarray
        Its own nodes that are in the halo of another part: sent every layer.
    """

    id: int
    inner_nodes: np.ndarray
    halo_nodes: np.ndarray
    boundary_nodes: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Part({self.id}: {len(self.inner_nodes):,} inner nodes, {len(self.boundary_nodes):,} of them boundary, "
            f"{len(self.halo_nodes):,} halo nodes)"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Every node of a graph given to one of `num_parts` parts.

    Parameters
    ----------
    graph : Graph
    assignment : int32 (n,)
        The part that owns each node; read-only.
    num_parts : int
    method : str
        Name of the partitioner.
    params : mapping
        Its parameters.
    fingerprint : str
        Fingerprint of the graph: a saved partition opens with no other.
    elapsed_s : float
        Seconds to partition, child process, checks and repair included.
    native_s : float
        Of them, seconds of the partitioner itself where it ran in a child process; else the same.
    peak_memory_bytes : int
        Memory that making it took beyond what was there, at its peak; a child process counts in full.
    repaired_parts : tuple of int
        Parts that the method had left empty and that were given a node each.
    """

    graph: Graph
    assignment: np.ndarray
    num_parts: int
    method: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    fingerprint: str
    elapsed_s: float = 0.0
    native_s: float = 0.0
    peak_memory_bytes: int = 0
    repaired_parts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        owners = owners_in_range(self.assignment, self.graph.num_nodes, self.num_parts, "Partition", "node")
        object.__setattr__(self, "assignment", owners)

    def part(self, part: int) -> Part:
        """Return inner, halo and boundary nodes of one part; O(n + m)."""
        part = part_in_range(part, self.num_parts, "Partition.part")
        inner_nodes = np.flatnonzero(self.assignment == part).astype(np.int64)
        return Part(
            id=part,
            inner_nodes=inner_nodes,
            halo_nodes=halo_of(self.graph, self.assignment, part, inner_nodes),
            boundary_nodes=boundary_of(self.graph, self.assignment, part),
        )

    def parts(self) -> tuple[Part, ...]:
        """Return all parts: two passes over the edges for all of them together."""
        nodes = all_nodes_of_parts(self.graph, self.assignment, self.num_parts)
        return tuple(
            Part(id=i, inner_nodes=inner, halo_nodes=halo, boundary_nodes=boundary)
            for i, (inner, halo, boundary) in enumerate(nodes)
        )

    def quality(self) -> PartitionQuality:
        """Compute what the partition costs: cut, halo, balance, traffic; one pass over the edges."""
        from workbench.partition.quality import measure_quality

        return measure_quality(self)

    def matched_to(self, reference: Partition) -> Partition:
        """Return this partition with its parts renumbered to overlap `reference` most."""
        if len(reference.assignment) != len(self.assignment):
            findings = Findings("Partition.matched_to")
            expected, got = f"a partition of {len(self.assignment):,} nodes", f"one of {len(reference.assignment):,}"
            findings.add("reference", expected, got, "match partitions of one graph")
            findings.raise_if_any()
        num_parts = max(self.num_parts, reference.num_parts)
        numbers = match_parts(reference.assignment, self.assignment, num_parts)[: self.num_parts]
        if self.num_parts < reference.num_parts:  # keep the numbers dense: rank of the number it would have had
            numbers = np.argsort(np.argsort(numbers)).astype(np.int32)
        repaired = tuple(sorted(int(numbers[part]) for part in self.repaired_parts))
        return dataclasses.replace(self, assignment=numbers[self.assignment], repaired_parts=repaired)

    def save(self, folder: str | Path) -> Path:
        """Write ``assignment.npy`` and ``partition.json`` into a folder and return it; a torn write does not open."""
        record = {
            "num_parts": self.num_parts,
            "method": self.method,
            "params": dict(self.params),
            "fingerprint": self.fingerprint,
            "elapsed_s": self.elapsed_s,
            "native_s": self.native_s,
            "peak_memory_bytes": self.peak_memory_bytes,
            "repaired_parts": list(self.repaired_parts),
        }
        return save_array(folder, "assignment", self.assignment, record)

    @classmethod
    def open(cls, folder: str | Path, graph: Graph) -> Self:
        """Open a saved partition of `graph`; another graph, or a torn or altered file, is refused.

        Raises
        ------
        InputError
            No partition in the folder, files that do not belong together, or a graph with another fingerprint.
        """
        assignment, record = open_array(folder, "assignment", graph, cls)
        record["repaired_parts"] = tuple(record.get("repaired_parts", ()))
        return cls(graph=graph, assignment=assignment, **record)

    def write_parts(self, folder: str | Path) -> Path:
        """Write a folder a part with what its worker needs, so that it opens its own alone; see :func:`open_part`.

        Parameters
        ----------
        folder : path
            New, or one that holds parts already: those are replaced.

        Returns
        -------
        Path
            The folder: ``parts.json``, ``part-0000``, ``part-0001``, ...
        """
        from workbench.partition.local import write_parts

        return write_parts(self, folder)

    def __repr__(self) -> str:
        sizes = np.bincount(self.assignment, minlength=self.num_parts)
        repaired = f", repaired empty parts {list(self.repaired_parts)}" if self.repaired_parts else ""
        return (
            f"Partition({self.graph.name!r}, {self.method}, {self.num_parts} parts of {sizes.min():,} to "
            f"{sizes.max():,} nodes, made in {format_seconds(self.elapsed_s)}{repaired})"
        )
