"""The workers of a cluster, as its scheduler sees them, and their restart."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from workbench.core.errors import Findings
from workbench.runtime.ask import ask, gone
from workbench.runtime.cluster import Cluster

RESTART_TIMEOUT_S = 30


def worker_facts(cluster: Cluster) -> list[dict[str, Any]]:
    """Return name, address, host, roles, memory, its limit and load of every worker process, in order of names.

    Memory and load are those of the worker itself: a rank is a process of its own, and tells its own.
    """
    if cluster.client.status != "running":
        raise gone("cluster")
    info = cluster.client.scheduler_info(n_workers=-1)["workers"]
    rows = [
        {
            "name": str(worker["name"]),
            "address": address,
            "host": worker["host"],
            "roles": [role for role in ("trainer", "sampler") if worker["resources"].get(role)],
            "memory_bytes": int(worker["metrics"].get("memory", 0)),
            "limit_bytes": int(worker["memory_limit"]) or None,
            "cpu_percent": float(worker["metrics"].get("cpu", 0.0)),
        }
        for address, worker in info.items()
    ]
    return sorted(rows, key=lambda row: ("trainer" not in row["roles"], len(row["name"]), row["name"]))


def run_states(cluster: Cluster) -> dict[str, str]:
    """Return {run id: status} of the runs that the cluster's scheduler knows."""
    return dict(ask(cluster.client, "workbench_runs", subject="cluster"))


def restart_worker(cluster: Cluster, name: str) -> None:
    """End a worker process and let it be started anew; a run that had a rank there goes on from its last checkpoint.

    Raises
    ------
    InputError
        Where no worker has that name, or nobody would start it again.
    """
    findings = Findings("restart")
    found = {row["name"]: row["address"] for row in worker_facts(cluster)}
    if name not in found:
        findings.add("worker", f"one of {sorted(found)}", repr(name), "choose a worker that is there")
        findings.raise_if_any()
    if cluster.is_local:  # its process keeps its workers alive
        cluster.client.run(_leave, workers=[found[name]])
        return
    try:
        cluster.client.restart_workers([found[name]], timeout=RESTART_TIMEOUT_S)
    except ValueError as error:
        fix = "end it where it was started, and start it again there"
        findings.add("worker", "one with a nanny, which starts it again", f"{name}: {error}", fix)
        findings.raise_if_any()


def _leave() -> None:
    """End this worker process a moment later, so that the answer still goes out."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
