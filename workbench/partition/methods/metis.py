"""METIS (Karypis & Kumar 1998), multilevel partitioning for a small edge cut, in a child process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import metis_child
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner, check_assignment
from workbench.partition.child import ChildJob, run_child
from workbench.partition.methods.contiguous import contiguous_blocks
from workbench.partition.rebalance import rebalance

if TYPE_CHECKING:
    from workbench.graph import Graph

CHILD_SCRIPT = Path(metis_child.__file__)
LIBRARY = "own"  # METIS's own calls; "pymetis": its function, with one constraint
MULTI_IMBALANCE = 0.05  # of several constraints: one is easier to keep than three
MAX_RECURSIVE_PARTS = 8  # METIS's manual: recursive bisection for few parts, k-way beyond


@PARTITIONERS.register("metis")
@dataclass(frozen=True, slots=True, kw_only=True)
class Metis(Partitioner):
    """Multilevel partitioning for the smallest edge cut at balanced nodes (METIS).

    METIS wants a symmetric graph without loops: what it is given is made so, here alone. Edges that exist in both
    directions, or several times, weigh as many as they are. It runs in a child process with a deadline. Several
    balances at once are constraints of METIS each; parts that it leaves too heavy are mended by single moves.
    """

    scheme: str = param(
        "auto",
        help="auto: recursive bisection up to 8 parts with one balance, else k-way",
        choices=("auto", "kway", "recursive"),
    )
    objective: str = param(
        "cut", help="what k-way minimises: cut edges or communication volume", choices=("cut", "volume")
    )
    balance: str = param(
        "nodes",
        help="what is balanced, each for itself: nodes, in-edges (one more a node), training nodes",
        choices=("nodes", "edges", "nodes+edges", "nodes+train", "edges+train", "nodes+edges+train"),
    )
    imbalance: float | None = param(
        None,
        help="how much larger than the mean a part may be; METIS's own default if None",
        minimum=0.001,
        maximum=MAX_IMBALANCE,
    )
    num_tries: int = param(1, help="partitions made, of which the best is kept", minimum=1, maximum=2**31 - 1)
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
        node_weights = self._node_weights(graph)
        if node_weights is not None:
            arrays["node_weights"] = node_weights
        job = ChildJob(
            what="METIS",
            script=CHILD_SCRIPT,
            arrays=arrays,
            options=self._options(num_parts, 1 if node_weights is None else node_weights.shape[1]),
            deadline_s=self.deadline_s,
        )
        made = check_assignment("metis", run_child(job, ("assignment",))["assignment"], num_nodes, num_parts)
        if node_weights is None or node_weights.shape[1] == 1:
            return made
        imbalance = MULTI_IMBALANCE if self.imbalance is None else self.imbalance
        return rebalance((starts, adjacent), made, node_weights, num_parts, imbalance)

    def _node_weights(self, graph: Graph) -> np.ndarray | None:
        """Return what is balanced, int64 (n, constraints), or None where it is the nodes alone."""
        if self.balance == "nodes":
            return None
        columns = {
            "nodes": np.ones(graph.num_nodes, dtype=np.int64),
            "edges": np.diff(graph.indptr) + 1,  # METIS divides by the total, and zeros have no place
            "train": np.bincount(graph.train_nodes, minlength=graph.num_nodes),
        }
        chosen = [columns[name] for name in self.balance.split("+")]
        return np.stack([column for column in chosen if column.any()], axis=1).astype(np.int64)

    def _options(self, num_parts: int, num_constraints: int) -> dict[str, Any]:
        is_simple = self.objective == "cut" and num_constraints == 1
        recursive = self.scheme == "recursive" or (
            self.scheme == "auto" and is_simple and num_parts <= MAX_RECURSIVE_PARTS
        )
        options = {"seed": self.rng_seed, "ncuts": self.num_tries}
        imbalance = MULTI_IMBALANCE if self.imbalance is None and num_constraints > 1 else self.imbalance
        if imbalance is not None:
            options["ufactor"] = max(1, round(imbalance * 1000))
        if not recursive and self.objective == "volume":
            options["objtype"] = 1
        return {"num_parts": num_parts, "recursive": recursive, "metis_options": options, "library": LIBRARY}
