"""L3: sampling of subgraphs and the analysis of the neighbourhood explosion (NumPy and Numba, no torch)."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.sampling.base import SAMPLERS, SampledSubgraph, Sampler, sample
from workbench.sampling.seeds import as_node_ids, as_seed_nodes, split_seeds
from workbench.sampling.topology import Topology

__all__ = [
    "sample",
    "SampledSubgraph",
    "Sampler",
    "SAMPLERS",
    "Topology",
    "as_node_ids",
    "as_seed_nodes",
    "split_seeds",
    "explosion",
    "Explosion",
]


def __getattr__(name: str) -> Any:
    # The analysis brings its own kernels: it is imported when it is first used.
    if name in ("explosion", "Explosion"):
        module = importlib.import_module("workbench.sampling.explode")
        globals().update(explosion=module.explosion, Explosion=module.Explosion)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
