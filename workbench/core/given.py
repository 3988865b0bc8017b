"""Whether what a person handed in is of the kind that is needed: told by name before anything is tried with it."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any

from workbench.core.errors import Findings


def note_whole(findings: Findings, minimum: int | None = None, **values: Any) -> None:
    """Note each of the named values that is no whole number, or is below the minimum."""
    for name, value in values.items():
        expected = "a whole number" if minimum is None else f"a whole number of at least {minimum}"
        fix = f"pass {name}={minimum or 0}, for example"
        try:
            number = operator.index(value)
        except TypeError:
            findings.add(name, expected, f"{type(value).__name__} {value!r}"[:80], fix)
            continue
        if isinstance(value, bool) or (minimum is not None and number < minimum):
            findings.add(name, expected, repr(value), fix)


def require_graph(value: Any, subject: str) -> None:
    """Refuse what is no graph.

    Raises
    ------
    InputError
    """
    if all(hasattr(value, name) for name in ("indptr", "indices", "num_nodes")):
        return
    findings = Findings(subject)
    fix = "wb.Graph.from_pyg(data)" if hasattr(value, "edge_index") else "wb.datasets.load('debian'), for example"
    findings.add("graph", "a workbench.Graph", type(value).__name__, fix)
    findings.raise_if_any()


def require_path(value: Any, name: str, subject: str) -> Path:
    """Return a path, or refuse what is none.

    Raises
    ------
    InputError
    """
    if isinstance(value, str | os.PathLike):
        return Path(value)
    findings = Findings(subject)
    findings.add(name, "a path", type(value).__name__, f"pass {name} as text or a pathlib.Path")
    findings.raise_if_any()
    raise AssertionError("there was a finding")
