"""Degree-based hashing (Xie et al., NeurIPS 2014): an edge follows from its end of lower degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.core.params import param
from workbench.partition.base import PARTITIONERS, Partitioner
from workbench.partition.node_hash import hash_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("dbh")
@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeBasedHashing(Partitioner):
    """Vertex-cut by a hash of each edge's end of lower degree, so that hubs are replicated and others are not (DBH)."""

    divides: ClassVar[Literal["nodes", "edges"]] = "edges"

    rng_seed: int = param(0, help="salt of the hash", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        ids = np.arange(graph.num_nodes, dtype=np.uint64)
        parts = (hash_ids(ids, self.rng_seed) % np.uint64(num_parts)).astype(np.int32)
        degrees = graph.in_degrees() + graph.out_degrees()
        owners = np.empty(graph.num_edges, dtype=np.int32)
        arrays = (read_only(graph.indptr), read_only(graph.indices), read_only(degrees), read_only(parts))
        _follow_lower_degree(*arrays, owners)
        return owners


@kernel
def _follow_lower_degree(
    indptr: np.ndarray, indices: np.ndarray, degrees: np.ndarray, parts: np.ndarray, owners: np.ndarray
) -> None:
    """Equal degrees: the lower id, so that an edge and its reverse go to the same part."""
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            source = indices[edge]
            is_source = degrees[source] < degrees[node] or (degrees[source] == degrees[node] and source < node)
            owners[edge] = parts[source] if is_source else parts[node]
