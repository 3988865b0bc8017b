"""Communities (Louvain, Blondel et al. 2008; Leiden, Traag et al. 2019) merged into balanced parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import read_only
from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import community_child
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner, check_assignment
from workbench.partition.child import ChildJob, run_child
from workbench.partition.methods.contiguous import contiguous_blocks
from workbench.partition.orders import stream_order
from workbench.partition.packing import pack_clusters
from workbench.partition.propagation import propagate

if TYPE_CHECKING:
    from workbench.graph import Graph

CHILD_SCRIPT = Path(community_child.__file__)


@PARTITIONERS.register("community")
@dataclass(frozen=True, slots=True, kw_only=True)
class Community(Partitioner):
    """Communities of high modularity (scikit-network, in a child process), merged whole into balanced parts."""

    algorithm: str = param("louvain", help="that finds the communities", choices=("louvain", "leiden"))
    resolution: float = param(1.0, help="more gives smaller communities", minimum=0.01)
    num_rounds: int = param(5, help="rounds of label propagation after the merge; 0 leaves it as it is", minimum=0)
    imbalance: float = param(
        0.05, help="how much larger than the mean a part may be", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the order in which communities form", minimum=0, maximum=2**31 - 1)
    deadline_s: float = param(600.0, help="seconds after which the child process is killed", unit="s", minimum=0.01)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        starts, adjacent, weights = symmetric_topology(graph)
        if num_parts in (1, graph.num_nodes) or not len(adjacent):
            return contiguous_blocks(graph.num_nodes, num_parts)  # nothing to optimise
        arrays = {"starts": starts, "adjacent": adjacent}
        if weights is not None:
            arrays["edge_weights"] = weights
        options = {"algorithm": self.algorithm, "resolution": self.resolution, "rng_seed": self.rng_seed}
        what = self.algorithm.capitalize()
        job = ChildJob(what=what, script=CHILD_SCRIPT, arrays=arrays, options=options, deadline_s=self.deadline_s)
        clusters = run_child(job, ("clusters",))["clusters"]
        clusters = check_assignment("community", clusters, graph.num_nodes, graph.num_nodes).astype(np.int64)
        counts = np.empty(0, dtype=np.int32) if weights is None else weights
        assignment = pack_clusters((starts, adjacent), counts, clusters, num_parts, self.imbalance)
        order = stream_order("random", (starts, adjacent), self.rng_seed)
        inputs = (read_only(starts), read_only(adjacent), read_only(counts), read_only(order))
        capacity = math.ceil(graph.num_nodes * (1 + self.imbalance) / num_parts)
        propagate(*inputs, capacity, self.num_rounds, num_parts, assignment)
        return assignment
