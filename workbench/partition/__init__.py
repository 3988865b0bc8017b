"""L2: dividing a graph among parts, and what the division costs.

``wb.partition`` is the name of this package and of the function in it. Whichever of the two Python finds there
(it depends on what was imported first), calling it partitions: the package is callable too.
"""

from __future__ import annotations

import sys
from types import ModuleType

from workbench.core.errors import Cancelled
from workbench.partition.base import PARTITIONERS, Partitioner, partition
from workbench.partition.match import match_parts
from workbench.partition.parts import Part, Partition
from workbench.partition.quality import PartitionQuality

__all__ = [
    "PARTITIONERS",
    "Cancelled",
    "Part",
    "Partition",
    "PartitionQuality",
    "Partitioner",
    "match_parts",
    "partition",
]


class _CallablePackage(ModuleType):
    __call__ = staticmethod(partition)


sys.modules[__name__].__class__ = _CallablePackage
