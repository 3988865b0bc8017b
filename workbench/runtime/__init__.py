"""L6: the only place with dask, processes and run files. A run started here outlives the kernel."""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "Cluster": "workbench.runtime.cluster",
    "connect": "workbench.runtime.cluster",
    "stop_local": "workbench.runtime.local_cluster",
    "Run": "workbench.runtime.run",
    "RunFolder": "workbench.runtime.run_folder",
    "Status": "workbench.runtime.run_records",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    # Lazy: the zygote and the cluster's processes import single modules, and should not pay for the others.
    if name not in _EXPORTS:
        raise AttributeError(f"module 'workbench.runtime' has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)
