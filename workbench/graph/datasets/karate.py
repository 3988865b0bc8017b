"""Zachary's karate club."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph


@DATASETS.register("karate")
@dataclass(frozen=True, slots=True, kw_only=True)
class Karate(Dataset):
    """Zachary's karate club (1977, through networkx): 34 members, 156 directed edges, the two clubs after the split.

    Features are one-hot; each club's founder (nodes 0 and 33) is its training node, of the others every fifth is a
    validation node and the rest test nodes.
    """

    def load(self, root: Path | None) -> Graph:
        import networkx as nx

        club = nx.karate_club_graph()
        others = np.setdiff1d(np.arange(34), [0, 33])
        return Graph.from_networkx(
            club,
            label="club",
            name="karate",
            x=np.eye(34, dtype=np.float32),
            train_nodes=[0, 33],
            val_nodes=others[::5],
            test_nodes=np.setdiff1d(others, others[::5]),
            meta={"source": "Zachary, J. Anthropological Research 33 (1977), through networkx"},
        )
