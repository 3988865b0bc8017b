"""Graphs that other processes map: a folder named by its content, written once under the workbench's home."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import InputError
from workbench.core.home import home_folder
from workbench.graph.folder import aside, content_hash, read_header, refuse, write

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

ABANDONED_S = 24 * 3600.0


def store_graph(graph: Graph) -> Path:
    """Return a folder that holds exactly this graph: the one it was opened from, or one named by its content."""
    total = content_hash(graph)
    if graph.folder is not None and holds(graph.folder, total):
        return graph.folder
    path = home_folder("graphs") / total
    if not holds(path, total):
        _sweep(path.parent)
        try:
            with aside(path) as partial:
                write(graph, partial)
                _put_in_place(partial, path, total)
        except OSError as error:
            refuse(graph, path, error)
    return path


def _put_in_place(partial: Path, path: Path, total: str) -> None:
    """Give a finished folder its name, unless another process was first with the same content."""
    if path.exists() and not holds(path, total):  # damaged: it does not hold what its name says
        damaged = partial.with_suffix(".damaged")
        with suppress(OSError):  # another process may have moved it first
            path.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    try:
        partial.rename(path)
    except OSError:
        if not holds(path, total):
            raise


def holds(path: Path, total: str) -> bool:
    """Say whether a folder is whole and has this content."""
    try:
        header = read_header(path)
    except (InputError, OSError):
        return False
    return bool(header["content_hash"] == total)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed in the middle of writing left behind a day ago or earlier."""
    for entry in folder.glob(".*.partial"):
        with suppress(OSError):
            if time.time() - entry.stat().st_mtime > ABANDONED_S:
                shutil.rmtree(entry, ignore_errors=True)
