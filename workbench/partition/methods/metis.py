"""METIS (Karypis & Kumar 1998), multilevel partitioning for a small edge cut, in a child process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import metis_child
from workbench.partition.base import PARTITIONERS, Partitioner, check_assignment
from workbench.partition.child import ChildJob, run_child
from workbench.partition.methods.contiguous import contiguous_blocks

if TYPE_CHECKING:
    from workbench.graph import Graph

CHILD_SCRIPT = Path(metis_child.__file__)
MAX_RECURSIVE_PARTS = 8  # METIS's manual: recursive bisection for few parts, k-way beyond


@PARTITIONERS.register("metis")
@dataclass(frozen=True, slots=True, kw_only=True)
class Metis(Partitioner):
    """Multilevel partitioning for the smallest edge cut at balanced nodes (METIS).

    METIS wants a symmetric graph without loops: what it is given is made so, here alone. Edges that exist in both
    directions, or several times, weigh as many as they are. It runs in a child process with a deadline.
    """

    scheme: str = param(
        "auto",
        help="auto: recursive bisection up to 8 parts, k-way beyond",
        choices=("auto", "kway", "recursive"),
    )
    objective: str = param(
        "cut", help="what k-way minimises: cut edges or communication volume", choices=("cut", "volume")
    )
    balance: str = param(
        "nodes", help="what is balanced: nodes, or in-edges (one more a node)", choices=("nodes", "edges")
    )
    imbalance: float | None = param(
        None, help="how much larger than the mean a part may be; METIS's own default if None", minimum=0.001
    )
    num_tries: int = param(1, help="partitions made, of which the best is kept", minimum=1)
    rng_seed: int = param(0, help="seed of METIS", minimum=0, maximum=2**31 - 1)
    deadline_s: float = param(600.0, help="seconds after which the child process is killed", unit="s", minimum=0.01)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        num_nodes = graph.num_nodes
        if num_parts == 1:
            return np.zeros(num_nodes, dtype=np.int32)
        starts, adjacent, edge_weights = symmetric_topology(graph)
        if num_parts == num_nodes or not len(adjacent):
            return contiguous_blocks(num_nodes, num_parts)  # nothing to optimise
        arrays = {"starts": starts, "adjacent": adjacent}
        if edge_weights is not None:
            arrays["edge_weights"] = edge_weights
        if self.balance == "edges":
            arrays["node_weights"] = np.diff(graph.indptr) + 1  # METIS divides by the total, and zeros have no place
        job = ChildJob(
            what="METIS",
            script=CHILD_SCRIPT,
            arrays=arrays,
            options=self._options(num_parts),
            deadline_s=self.deadline_s,
        )
        return check_assignment("metis", run_child(job, ("assignment",))["assignment"], num_nodes, num_parts)

    def _options(self, num_parts: int) -> dict[str, Any]:
        recursive = self.scheme == "recursive" or (
            self.scheme == "auto" and self.objective == "cut" and num_parts <= MAX_RECURSIVE_PARTS
        )
        options = {"seed": self.rng_seed, "ncuts": self.num_tries}
        if self.imbalance is not None:
            options["ufactor"] = max(1, round(self.imbalance * 1000))
        if not recursive and self.objective == "volume":
            options["objtype"] = 1
        return {"num_parts": num_parts, "recursive": recursive, "metis_options": options}
