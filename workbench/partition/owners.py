"""Checks of what a partition is made of: an owner in range for every node or edge, numbers of parts, folders."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import note_whole, require_path


def owners_in_range(array: Any, num_items: int, num_parts: Any, subject: str, item: str) -> np.ndarray:
    """Return the owners of all nodes or edges as a read-only int32 view: compiled kernels index by them unchecked.

    Raises
    ------
    InputError
        Not one whole number in [0, num_parts) for every node or edge, or no whole number of parts.
    """
    findings = Findings(subject)
    note_whole(findings, minimum=1, num_parts=num_parts)
    findings.raise_if_any()
    owners, where = np.asarray(array), "assignment" if item == "node" else "edge_assignment"
    fix = f"give every {item} the number of one part"
    if owners.shape != (num_items,):
        findings.add(where, f"one part for each of {num_items:,} {item}s", f"shape {owners.shape}", fix)
    elif owners.dtype.kind not in "iu":
        findings.add(where, "whole numbers", str(owners.dtype), fix)
    elif num_items and not 0 <= int(owners.min()) <= int(owners.max()) < num_parts:
        bad = int(np.flatnonzero((owners < 0) | (owners >= num_parts))[0])
        findings.add(where, f"parts from 0 to {num_parts - 1}", f"part {owners[bad]} for {item} {bad}", fix)
    findings.raise_if_any()
    view = np.ascontiguousarray(owners, dtype=np.int32).view()
    view.flags.writeable = False
    return view


def part_in_range(part: Any, num_parts: int, subject: str) -> int:
    """Return the number of a part, or refuse one that is not there."""
    is_whole = not isinstance(part, (bool, np.bool_)) and isinstance(part, (int, np.integer))
    if not is_whole or not 0 <= part < num_parts:
        findings = Findings(subject)
        findings.add("part", f"a whole number from 0 to {num_parts - 1}", repr(part), "pass a part of this partition")
        findings.raise_if_any()
    return operator.index(part)


def folder_to_write(folder: Any, subject: str) -> Path:
    """Make a folder and return its path; say what stands in the way."""
    path = require_path(folder, "folder", subject)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        findings = Findings(subject)
        got = "a file" if path.is_file() else f"{type(error).__name__}: {error}"
        findings.add(
            "folder", "a folder that can be made and written", f"{got}, for {str(path)!r}", "choose another folder"
        )
        findings.raise_if_any()
    return path
