"""A partition as a folder: one array and one record that belong together, and to one graph."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import require_graph, require_path
from workbench.partition.owners import folder_to_write

if TYPE_CHECKING:
    from workbench.graph import Graph

FORMAT_VERSION = 1
RECORD = "partition.json"


def save_array(folder: str | Path, name: str, array: np.ndarray, record: Mapping[str, Any]) -> Path:
    """Write ``<name>.npy`` and ``partition.json`` into a folder and return it; a torn write does not open."""
    folder = folder_to_write(folder, "save")
    temporary = folder / f".{name}-{os.getpid()}.npy"
    np.save(temporary, array)
    temporary.replace(folder / f"{name}.npy")
    write_json(folder / RECORD, dict(record) | {"format": FORMAT_VERSION, "checksum": checksum(array)})
    return folder


def write_json(file: Path, record: Mapping[str, Any]) -> None:
    """Write a record aside and rename it: the file is whole or not there."""
    temporary = file.with_name(f".{file.name}-{os.getpid()}")
    temporary.write_text(json.dumps(record, indent=1))
    temporary.replace(file)


def open_array(folder: str | Path, name: str, graph: Graph, kind: type) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the array and the record of a saved partition of `graph`; `kind` is the dataclass that it was.

    Raises
    ------
    InputError
        No partition in the folder, files that do not belong together, or a graph with another fingerprint.
    """
    require_graph(graph, "open")
    folder = require_path(folder, "folder", "open")
    findings = Findings(f"partition in {folder}")
    try:
        record = json.loads((folder / RECORD).read_text())
        array = np.load(folder / f"{name}.npy", allow_pickle=False)
        expected_sum, fingerprint, known = record.pop("checksum"), record["fingerprint"], record.pop("format")
        _check_fields(record, kind, name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        findings.add("folder", "a saved partition", f"{type(error).__name__}: {error}", "save the partition again")
        findings.raise_if_any()
    if known != FORMAT_VERSION or expected_sum != checksum(array):
        findings.add(f"{name}.npy", "the array that was saved", "another one", "save the partition again")
    if fingerprint != graph.fingerprint:
        expected = f"the graph that it was made for, fingerprint {fingerprint[:12]}"
        got = f"{graph.name!r}, {graph.num_nodes:,} nodes, fingerprint {graph.fingerprint[:12]}"
        findings.add("graph", expected, got, "open it with its own graph, or partition this one anew")
    findings.raise_if_any()
    return array, record


def _check_fields(record: dict[str, Any], kind: type, name: str) -> None:
    fields = {one.name: one for one in dataclasses.fields(kind)}
    unknown = sorted(set(record) - set(fields))
    if unknown:
        raise KeyError(f"{RECORD} holds {unknown}, which are unknown")
    needed = [one for one, field in fields.items() if field.default is field.default_factory is dataclasses.MISSING]
    missing = sorted(set(needed) - set(record) - {"graph", name})
    if missing:
        raise KeyError(f"{RECORD} lacks {missing}")


def checksum(array: np.ndarray) -> str:
    """Return the BLAKE2b of an array's bytes."""
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()
