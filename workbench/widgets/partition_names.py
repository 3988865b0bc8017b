"""What partitions that are shown side by side are called, and which two of them are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.partition import Partition
    from workbench.partition.quality import PartitionQuality
    from workbench.widgets.partition_results import Made

_ACRONYMS = {"metis", "ldg", "dbh", "hdrf", "bfs"}
_SPELLINGS = {"kahip": "KaHIP", "mtkahypar": "Mt-KaHyPar"}


def method_label(method: str) -> str:
    """Return the name of a method for people: ``metis`` is METIS, ``label_propagation`` Label propagation."""
    if method in _SPELLINGS:
        return _SPELLINGS[method]
    return method.upper() if method in _ACRONYMS else method.replace("_", " ").capitalize()


def method_in_sentence(method: str) -> str:
    """Return the name of a method inside a sentence."""
    label = method_label(method)
    return label if method in _ACRONYMS or method in _SPELLINGS else label.lower()


def part_counts(shown: Sequence[Made]) -> tuple[int, ...]:
    """Return the numbers of parts that are shown, each once, in their order."""
    return tuple(dict.fromkeys(made.partition.num_parts for made in shown))


def by_name(shown: Sequence[Made]) -> dict[Any, Partition]:
    """Return partitions by method; by method and number of parts where several numbers are shown."""
    several = len(part_counts(shown)) > 1
    divided = [made.partition for made in shown]
    return {(one.method, one.num_parts) if several else one.method: one for one in divided}


def label_of(quality: PartitionQuality, several: bool) -> str:
    """Return the name of a partition for heads: the method, and the number of parts where several are shown."""
    label = method_label(quality.method)
    return f"{label}, {quality.num_parts} parts" if several else label


def name_of(quality: PartitionQuality, several: bool) -> str:
    """Return the name of a partition inside a sentence."""
    name = method_in_sentence(quality.method)
    return f"{name} in {quality.num_parts} parts" if several else name


def compared_with(made: Made, shown: Sequence[Made]) -> Made | None:
    """Return what a partition is compared with.

    It is the first other method with as many parts; without one, the first other number of parts of its method.
    """
    parts, method = made.partition.num_parts, made.partition.method
    alike = [one for one in shown if one is not made and one.partition.num_parts == parts]
    alike += [one for one in shown if one is not made and one.partition.method == method]
    return alike[0] if alike else None


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
