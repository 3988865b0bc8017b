"""L4: feature stores, and batches made ahead of training: who makes one never changes its bits."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.gather.base import STORES, FeatureStore, Store
from workbench.gather.batch import Batch
from workbench.gather.dealing import EXAMPLES, Examples
from workbench.gather.plan import BatchMaker, BatchPlan, BatchRequest, epoch_requests
from workbench.gather.source import BatchSource, LocalSource

# name -> module that holds it: the loaders bring torch and PyG, and are imported when first used.
_LOADERS = {"NeighborLoader": "workbench.gather.loader", "LinkNeighborLoader": "workbench.gather.link_loader"}

__all__ = [
    "Batch",
    "BatchMaker",
    "BatchPlan",
    "BatchRequest",
    "BatchSource",
    "EXAMPLES",
    "Examples",
    "FeatureStore",
    "LinkNeighborLoader",
    "LocalSource",
    "NeighborLoader",
    "STORES",
    "Store",
    "epoch_requests",
]


def __getattr__(name: str) -> Any:
    if name not in _LOADERS:
        raise AttributeError(f"module 'workbench.gather' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LOADERS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADERS})
