"""Which rank a sampler serves: it is drawn in that rank's colour, wherever it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SEVERAL = -1  # a sampler that serves more ranks than one


def with_service(serves: Mapping[int, int], sampler: int, rank: int) -> Mapping[int, int]:
    """Return sampler -> rank (or ``SEVERAL``) after `sampler` made a batch for `rank`; threads (below 0) stay out."""
    if sampler < 0 or serves.get(sampler) in (rank, SEVERAL):
        return serves
    return MappingProxyType({**serves, sampler: SEVERAL if sampler in serves else rank})
