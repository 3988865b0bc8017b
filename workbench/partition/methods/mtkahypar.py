"""Mt-KaHyPar (Gottesbüren et al. 2021), in a child process; an optional package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from workbench.core.params import param
from workbench.partition import mtkahypar_child
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.native import partition_in_child

if TYPE_CHECKING:
    from workbench.graph import Graph

CHILD_SCRIPT = Path(mtkahypar_child.__file__)


@PARTITIONERS.register("mtkahypar")
@dataclass(frozen=True, slots=True, kw_only=True)
class MtKaHyPar(Partitioner):
    """Multilevel partitioning in parallel and still deterministic (Mt-KaHyPar); needs the extra ``mtkahypar``.

    Its deterministic presets draw nothing at random, so there is no ``rng_seed``; any number of threads gives the same.
    """

    needs: ClassVar[str] = "mtkahypar"

    preset: str = param(
        "deterministic", help="effort; the same bits every time", choices=("deterministic", "deterministic_quality")
    )
    num_threads: int = param(1, help="threads of the child process", minimum=1)
    imbalance: float = param(
        0.03, help="how much larger than the mean a part may be", minimum=0.0, maximum=MAX_IMBALANCE
    )
    deadline_s: float = param(600.0, help="seconds after which the child process is killed", unit="s", minimum=0.01)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        options = {
            "preset": self.preset,
            "num_threads": self.num_threads,
            "imbalance": self.imbalance,
        }
        return partition_in_child(
            graph, num_parts, what="Mt-KaHyPar", script=CHILD_SCRIPT, options=options, deadline_s=self.deadline_s
        )
