"""What partitioners have in common that hand a graph to native code in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.symmetric import symmetric_topology
from workbench.partition.child import ChildJob, run_child
from workbench.partition.methods.contiguous import contiguous_blocks

if TYPE_CHECKING:
    from workbench.graph import Graph


def partition_in_child(
    graph: Graph, num_parts: int, *, what: str, script: Path, options: Mapping[str, Any], deadline_s: float
) -> np.ndarray:
    """Return what a child script makes of the symmetric, loop-free graph; unchecked."""
    starts, adjacent, weights = symmetric_topology(graph)
    if num_parts in (1, graph.num_nodes) or not len(adjacent):
        return contiguous_blocks(graph.num_nodes, num_parts)  # nothing to optimise
    arrays = {"starts": starts, "adjacent": adjacent}
    if weights is not None:
        arrays["edge_weights"] = weights
    job = ChildJob(
        what=what, script=script, arrays=arrays, options={"num_parts": num_parts, **options}, deadline_s=deadline_s
    )
    return run_child(job, ("assignment",))["assignment"]
