"""Clients of Dask schedulers, quiet ones."""

from __future__ import annotations

import logging
from typing import Any

from workbench.core.errors import Findings


def quieten_dask() -> None:
    """Keep Dask's own log lines and tracebacks of broken connections out of the notebook."""
    import distributed  # noqa: F401  # it sets the levels of its loggers when it is imported

    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm", "distributed.batched"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def open_client(target: Any, address: str, settings: dict[str, object] | None = None) -> Any:
    """Return a client of an address or a cluster object; raise ``InputError`` where nothing answers there.

    `settings` of Dask hold for its connection alone.
    """
    import dask
    from distributed import Client

    if not (isinstance(target, str) or hasattr(target, "scheduler_address")):
        findings = Findings("connect")
        fix = "pass tcp://host:port, a Client, or nothing for a local cluster"
        findings.add("target", "an address, a Client or a cluster of Dask's", repr(target), fix)
        findings.raise_if_any()
    try:
        # A cluster object brings its own security settings; an address those of Dask's configuration.
        with dask.config.set(settings or {}):
            return Client(target, timeout=10, set_as_default=False, name="workbench")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        findings = Findings("connect")
        fix = "check the address and that its scheduler runs, or leave it out for a local cluster"
        findings.add("target", "the address of a Dask scheduler, tcp://host:port", f"{address}: {error}", fix)
        findings.raise_if_any()
