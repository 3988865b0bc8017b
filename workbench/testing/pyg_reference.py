"""PyG's own loaders over a sampler of the workbench: what a batch must look like, by PyG's code."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.loader.link_loader import LinkLoader
from torch_geometric.loader.node_loader import NodeLoader
from torch_geometric.sampler import BaseSampler
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from workbench.gather.link_loader import LinkNeighborLoader
from workbench.gather.loader import NeighborLoader
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import Sampling


class ReferenceSampler(BaseSampler):  # type: ignore[misc]  # PyG is not typed
    """A PyG sampler that draws with the workbench, always by the same key; all that surrounds the draw is PyG's."""

    def __init__(self, sampling: Sampling, key: DrawKey) -> None:
        super().__init__()
        self.sampling, self.key = sampling, key

    @property
    def edge_permutation(self) -> Any:
        """Return the original position of each edge."""
        order = self.sampling.graph.edge_order
        return None if order is None else torch.from_numpy(order.astype("int64"))

    def sample_from_nodes(self, inputs: Any) -> Any:
        """Sample around nodes, as PyG does."""
        return node_sample(inputs, self._sample)

    def sample_from_edges(self, inputs: Any, neg_sampling: Any = None) -> Any:
        """Sample around the ends of edges and of negative pairs, as PyG does."""
        sampling, times = self.sampling, self.sampling.node_time
        times = None if times is None else torch.from_numpy(times.copy())
        return edge_sample(inputs, self._sample, sampling.graph.num_nodes, sampling.is_disjoint, times, neg_sampling)

    def _sample(self, seed: Any, seed_time: Any = None) -> Any:
        times = None if seed_time is None else seed_time.numpy()
        return self.sampling.to_output(self.sampling.sample(seed.numpy(), times, self.key))


def reference_of(loader: NeighborLoader | LinkNeighborLoader, key: DrawKey, **options: Any) -> Any:
    """Return PyG's loader of the same inputs; its batches are those that `loader` should make by this key."""
    sampler = ReferenceSampler(loader.sampling, key)
    if isinstance(loader, NeighborLoader):
        return NodeLoader(loader.data, sampler, loader.input_nodes, loader.input_time, **options)
    return LinkLoader(loader.data, sampler, loader.edge_label_index, **options)
