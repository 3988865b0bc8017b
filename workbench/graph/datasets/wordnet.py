"""WordNet 3.0's synsets and the pointers between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.core.params import param
from workbench.graph import csc
from workbench.graph.datasets import shipped
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph


@DATASETS.register("wordnet")
@dataclass(frozen=True, slots=True, kw_only=True)
class WordNet(Dataset):
    """WordNet 3.0's 117,659 synsets: 367,578 relations (both ways), 512 hashed words, 45 lexicographer files.

    Undirected by default (a pair that several pointers join is one edge in each direction, of the first of their
    types); directed, the 364,543 pointers as they stand, of 26 types. Features are sparse rows of the gloss's words.
    A synset is named by its first word. Princeton University's licence: ``files/wordnet-LICENSE.txt``. Built by
    ``files/build_wordnet_graph.py``.
    """

    directed: bool = param(False, help="keep the direction and every type of the pointers")
    features: str = param("log1p", help="log1p of the word counts, or the counts", choices=shipped.FEATURES)

    def load(self, root: Path | None) -> Graph:
        arrays = shipped.read(root, "wordnet30.npz", "wordnet")
        edges, types = shipped.strongest_first(arrays)
        if not self.directed:
            source, destination, edge = csc.both_directions(edges[0], edges[1], len(arrays["y"]))
            edges, types = np.stack([source, destination]), types[edge]
        return Graph.from_edge_index(
            edges,
            len(arrays["y"]),
            x=shipped.words(arrays, self.features),
            y=arrays["y"],
            **shipped.splits(arrays),  # type: ignore[arg-type]
            edge_data={"type": types},
            node_names=shipped.lines(arrays["names"], "latin-1"),
            class_names=arrays["class_names"].tolist(),
            name="wordnet",
            meta={
                "source": "WordNet 3.0, copyright 2006 by Princeton University",
                "licence": (shipped.FILES / "wordnet-LICENSE.txt").read_text(encoding="utf-8"),
                "edge_type_names": arrays["edge_type_names"].tolist(),
            },
        )
