"""KaHIP (Sanders & Schulz 2013), in a child process; an optional package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from workbench.core.params import param
from workbench.partition import kahip_child
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.native import partition_in_child

if TYPE_CHECKING:
    from workbench.graph import Graph

CHILD_SCRIPT = Path(kahip_child.__file__)
MODES = ("fast", "eco", "strong", "fastsocial", "ecosocial", "strongsocial")


@PARTITIONERS.register("kahip")
@dataclass(frozen=True, slots=True, kw_only=True)
class KaHip(Partitioner):
    """Multilevel partitioning with flows and local search (KaHIP's KaFFPa); needs the extra ``kahip``."""

    needs: ClassVar[str] = "kahip"

    mode: str = param("ecosocial", help="effort, and whether the graph is a social network", choices=MODES)
    imbalance: float = param(
        0.03, help="how much larger than the mean a part may be", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of KaHIP", minimum=0, maximum=2**31 - 1)
    deadline_s: float = param(600.0, help="seconds after which the child process is killed", unit="s", minimum=0.01)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        options = {"mode": self.mode, "imbalance": self.imbalance, "rng_seed": self.rng_seed}
        return partition_in_child(
            graph, num_parts, what="KaHIP", script=CHILD_SCRIPT, options=options, deadline_s=self.deadline_s
        )
