"""L4: feature stores, and batches made ahead of training: who makes one never changes its bits."""

from workbench.gather.base import STORES, FeatureStore, Store
from workbench.gather.batch import Batch
from workbench.gather.plan import BatchMaker, BatchPlan, BatchRequest, epoch_requests
from workbench.gather.source import BatchSource, LocalSource

__all__ = [
    "Batch",
    "BatchMaker",
    "BatchPlan",
    "BatchRequest",
    "BatchSource",
    "FeatureStore",
    "LocalSource",
    "STORES",
    "Store",
    "epoch_requests",
]
