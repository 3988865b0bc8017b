"""L2: dividing a graph among parts, and what the division costs.

``wb.partition`` is the name of this package and of the function in it. Whichever of the two Python finds there
(it depends on what was imported first), calling it partitions: the package is callable too.
"""

from __future__ import annotations

import sys
from types import ModuleType

from workbench.core.errors import Cancelled
from workbench.partition.base import PARTITIONERS, Partitioner, node_methods, partition
from workbench.partition.edge_parts import EdgePart, EdgePartition
from workbench.partition.edge_quality import EdgePartitionQuality
from workbench.partition.local import LocalPart, open_part
from workbench.partition.match import match_parts
from workbench.partition.parts import Part, Partition
from workbench.partition.quality import PartitionQuality
from workbench.partition.reorder import reorder

__all__ = [
    "PARTITIONERS",
    "Cancelled",
    "EdgePart",
    "EdgePartition",
    "EdgePartitionQuality",
    "LocalPart",
    "Part",
    "Partition",
    "PartitionQuality",
    "Partitioner",
    "match_parts",
    "node_methods",
    "open_part",
    "partition",
    "reorder",
]


class _CallablePackage(ModuleType):
    __call__ = staticmethod(partition)


sys.modules[__name__].__class__ = _CallablePackage
