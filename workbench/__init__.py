"""A Jupyter workbench for parallel and distributed GNN training.

``import workbench as wb`` loads neither torch nor dask nor a widget library: each name is imported when it
is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# name -> module that holds it; a name enters when it works.
_EXPORTS = {
    "Graph": "workbench.graph",
    "datasets": "workbench.graph",
    "doctor": "workbench.session",
    "partition": "workbench.partition",
    "Partition": "workbench.partition",
    "sample": "workbench.sampling",
    "SampledSubgraph": "workbench.sampling",
    "NeighborLoader": "workbench.gather",
    "LinkNeighborLoader": "workbench.gather",
    "explosion": "workbench.sampling",
    "Explosion": "workbench.sampling",
    "check_parity": "workbench.train.parity",
    "connect": "workbench.session",
    "Session": "workbench.session",
    "Run": "workbench.session",
    "runs": "workbench.session",
    "export_script": "workbench.session",
    "attach": "workbench.session",
    "compare": "workbench.session",
    "ClusterPanel": "workbench.widgets",
    "NeighborhoodExplorer": "workbench.widgets",
    "PartitionExplorer": "workbench.widgets",
    "RunComparison": "workbench.widgets",
    "TrainingDashboard": "workbench.widgets",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})


def load_ipython_extension(shell: Any) -> None:
    """Let ``%load_ext workbench`` bring the cell magic ``%%distributed``."""
    importlib.import_module("workbench.magics").register(shell)
