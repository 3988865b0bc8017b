"""L7: the widgets. The only place with ipywidgets, anywidget and plotly; each widget is imported when first used."""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "ClusterPanel": "workbench.widgets.cluster_panel",
    "NeighborhoodExplorer": "workbench.widgets.neighborhood_explorer",
    "PartitionExplorer": "workbench.widgets.partition_explorer",
    "RunComparison": "workbench.widgets.run_comparison",
    "TrainingDashboard": "workbench.widgets.training_dashboard",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'workbench.widgets' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
