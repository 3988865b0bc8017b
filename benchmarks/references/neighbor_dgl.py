"""DGL's neighbour sampler, where DGL is installed: it is no dependency of the project.

pip install --no-deps dgl==1.1.3       # the last release on PyPI that runs beside any version of torch
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np


def dgl_sampler(indptr: Any, indices: Any, fanouts: tuple[int, ...]) -> Callable[[Any], int] | None:
    """Return a function of seeds that samples blocks and returns their edges; None where there is no DGL."""
    if importlib.util.find_spec("dgl") is None:
        return None
    import dgl
    import torch

    torch.set_num_threads(1)
    edge_ids = torch.empty(0, dtype=torch.int64)
    graph = dgl.graph(
        ("csc", (torch.from_numpy(np.array(indptr)), torch.from_numpy(np.array(indices, np.int64)), edge_ids))
    )
    sampler = dgl.dataloading.NeighborSampler(list(fanouts)[::-1])  # DGL's fanouts end next to the seeds

    def sample(seeds: Any) -> int:
        _, _, blocks = sampler.sample(graph, torch.from_numpy(np.array(seeds)))
        return sum(block.num_edges() for block in blocks)

    return sample
