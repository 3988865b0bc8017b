"""What the generators share: labels that follow the edges, features that follow the labels, a split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.core.params import param
from workbench.core.rng import generator
from workbench.graph import csc
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph

Array = NDArray[Any]
SMOOTHING_ROUNDS = 2
_LABELS, _FEATURES, _SPLIT, EDGES = range(4)  # what a stream of random numbers is for


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Dataset):
    """Base of the generators: the same parameters give the same graph on every machine.

    Labels are planted so that neighbours tend to share them (a keyed Gaussian a class, averaged over neighbours twice,
    the largest wins), features so that they tell the label through noise (the class's centre + noise).
    """

    num_features: int = param(32, help="columns of x; 0 for no features", minimum=0)
    num_classes: int = param(8, help="classes of y; 0 for no labels and no split", minimum=0)
    feature_noise: float = param(1.0, help="standard deviation of the noise around a class's centre", minimum=0)
    rng_seed: int = param(0, help="key of every random choice")

    def edges(self) -> tuple[Array, int]:
        """Return undirected edges (2, m), in any direction and number, and the number of nodes."""
        raise NotImplementedError

    def labels(self, topology: Graph) -> Array:
        """Return a label for every node."""
        shape = (topology.num_nodes, self.num_classes)
        field = generator(self.rng_seed, _LABELS).standard_normal(shape, dtype=np.float32)
        weights = np.ones(topology.num_edges, np.float32)
        adjacency = sparse.csr_array((weights, topology.indices, topology.indptr), shape=(shape[0], shape[0]))
        for _ in range(SMOOTHING_ROUNDS):
            field = field + adjacency @ field
            field = field / np.maximum(np.linalg.norm(field, axis=1, keepdims=True), 1e-12)
            field = field - field.mean(axis=0)  # no class takes over
        return field.argmax(axis=1) if shape[0] else np.zeros(0, np.int64)

    def load(self, root: Path | None) -> Graph:
        pairs, num_nodes = self.edges()
        source, destination, _ = csc.both_directions(pairs[0], pairs[1], num_nodes)
        apart = source != destination
        name = DATASETS.name_of(self)
        meta = {"source": f"generated: {name}", "params": self.to_dict()}
        edges = np.stack([source[apart], destination[apart]])
        topology = Graph.from_edge_index(edges, num_nodes, name=name, meta=meta)
        labels = self.labels(topology) if self.num_classes else None
        data: dict[str, Any] = {"x": self._features(num_nodes, labels)}
        if labels is not None:
            data |= {"y": labels, "num_classes": self.num_classes, **self._splits(num_nodes)}
        return topology.with_data(**{key: value for key, value in data.items() if value is not None})

    def _features(self, num_nodes: int, labels: Array | None) -> Array | None:
        if not self.num_features:
            return None
        draw = generator(self.rng_seed, _FEATURES)
        centres = draw.standard_normal((max(1, self.num_classes), self.num_features), dtype=np.float32)
        x = draw.standard_normal((num_nodes, self.num_features), dtype=np.float32)
        x *= np.float32(self.feature_noise if labels is not None else 1.0)
        return x if labels is None else x + centres[labels]

    def _splits(self, num_nodes: int) -> dict[str, Array]:
        """Draw 60% training, 20% validation and 20% test nodes."""
        order = generator(self.rng_seed, _SPLIT).permutation(num_nodes)
        first, second = max(1, round(0.6 * num_nodes)), round(0.8 * num_nodes)
        return {"train_nodes": order[:first], "val_nodes": order[first:second], "test_nodes": order[second:]}
