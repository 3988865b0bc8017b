"""L1: the graph, its folder, checks, converters, statistics, layout and data sets."""

from __future__ import annotations

import importlib
from typing import Any

# name -> module that holds it (None: the module itself); imported when first used.
_EXPORTS = {
    "Graph": "workbench.graph.graph",
    "GraphStats": "workbench.graph.stats",
    "SparseRows": "workbench.graph.sparse_rows",
    "check_graph": "workbench.graph.check",
    "layout": "workbench.graph.layout",
    "datasets": None,
}

__all__ = ["Graph", "GraphStats", "SparseRows", "check_graph", "layout", "datasets"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'workbench.graph' has no attribute {name!r}")
    module = _EXPORTS[name]
    value = importlib.import_module(module or f"workbench.graph.{name}")
    globals()[name] = value = value if module is None else getattr(value, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
