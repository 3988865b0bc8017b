"""Dask's settings on this user's local cluster."""

from __future__ import annotations

LOCAL: dict[str, object] = {
    # Dask remembers a thousand messages a connection (ours are long) and an hour of load: memory would grow with them.
    "distributed.admin.low-level-log-length": 20,
    "distributed.admin.system-monitor.log-length": 60,
    # On one machine a connection ends with its process. One that is only slow, since the machine is overloaded, is no
    # loss; after Dask's 30 s of silence it would be taken for one, and the ranks on it killed.
    "distributed.comm.timeouts.tcp": "600 s",
    "distributed.comm.timeouts.connect": "60 s",
}
