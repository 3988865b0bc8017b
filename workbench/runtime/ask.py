"""Questions to a scheduler: its answer, or one error that says that the cluster is gone."""

from __future__ import annotations

import socket
from typing import Any

from workbench.core.errors import RunError


def ask(client: Any, name: str, *, subject: str, remains: str = "", **fields: Any) -> Any:
    """Return what a handler of the scheduler answers; `remains` tells what outlives the cluster.

    Raises
    ------
    RunError
        Where the scheduler is gone.
    """
    if client.status != "running":
        raise gone(subject, remains)
    try:
        return client.sync(getattr(client.scheduler, name), **fields)
    except Exception as error:
        if client.status != "running" or _is_broken_line(error):
            raise gone(subject, remains) from error
        raise


def gone(subject: str, remains: str = "") -> RunError:
    """Return the error of a cluster that is gone."""
    told = f" {remains}." if remains else ""
    return RunError(
        f"{subject}: the cluster is gone, its scheduler does not answer.{told} Fix: call wb.connect() again"
    )


def is_listening(address: str) -> bool:
    """Say whether something accepts connections at ``tcp://host:port``; takes at most half a second."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=0.5):
            return True
    except (OSError, ValueError):
        return False


def _is_broken_line(error: Exception) -> bool:
    # Dask's own have no number (CommClosedError, timeouts); an error of a file that a handler met has one.
    return isinstance(error, ConnectionError) or (isinstance(error, OSError) and error.errno is None)
