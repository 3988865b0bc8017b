"""Whether client, scheduler and workers run the same: a difference would show as a riddle in the middle of a run."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import Findings

MISSING = "missing"
_EVERYWHERE = ("python", "gnn-workbench", "dask", "distributed")
_WHERE_RANKS_RUN = ("torch", "torch-geometric", "numpy")
Versions = Mapping[str, str]


def own_versions() -> dict[str, str]:
    """Return the versions of this process by the names of their distributions; ``python`` by major and minor."""
    found = {name: _version(name) for name in (*_EVERYWHERE, *_WHERE_RANKS_RUN) if name != "python"}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}"} | found


def _version(name: str) -> str:
    try:
        # torch 2.9+cpu here and torch 2.9+cu130 there are one version for different devices.
        return importlib.metadata.version(name).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return MISSING


def differences(own: Versions, other: Versions, *, has_ranks: bool) -> dict[str, tuple[str, str]]:
    """Return what differs between two sides: ``{name: (own, other)}``; a scheduler needs no torch."""
    names = (*_EVERYWHERE, *(_WHERE_RANKS_RUN if has_ranks else ()))
    pairs = {name: (own.get(name, MISSING), other.get(name, MISSING)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def difference_text(own: Versions, other: Versions, *, has_ranks: bool) -> str:
    """Return the differences as words, empty without any."""
    found = differences(own, other, has_ranks=has_ranks).items()
    return ", ".join(f"{name} {there} and not {here}" for name, (here, there) in found)


def check_versions(client: Any) -> None:
    """Compare all sides of a cluster.

    Raises
    ------
    InputError
        With one line for each package that differs, and where.
    """
    asked = [name for name in own_versions() if name != "python"]
    told = client.get_versions(packages=asked)
    sides = {"the scheduler": (told["scheduler"], False)}
    sides |= {f"worker {address}": (record, True) for address, record in told["workers"].items()}
    raise_differences(own_versions(), {name: (_told(side), ranks) for name, (side, ranks) in sides.items()})


def _told(record: Mapping[str, Any]) -> dict[str, str]:
    packages = {name: str(version or MISSING).partition("+")[0] for name, version in record["packages"].items()}
    return packages | {"python": ".".join(packages["python"].split(".")[:2])}


def raise_differences(own: Versions, sides: Mapping[str, tuple[Versions, bool]]) -> None:
    """Raise one error with a line for each package of which a side has another version than this process."""
    where: dict[str, dict[str, list[str]]] = {}
    for side, (versions, has_ranks) in sides.items():
        for name, (_, there) in differences(own, versions, has_ranks=has_ranks).items():
            where.setdefault(name, {}).setdefault(there, []).append(side)
    findings = Findings("connect")
    for name, by_version in where.items():
        got = "; ".join(f"{version} on {_some(there)}" for version, there in by_version.items())
        fix = f"install {name} {own[name]} there, or start this kernel in the cluster's environment"
        findings.add("versions", f"{name} {own[name]}, as in this process", got, fix)
    findings.raise_if_any()


def _some(places: list[str]) -> str:
    return ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
