"""How long a run on a cluster can live: as long as its scheduler, and who ends that."""

from __future__ import annotations

from typing import Any


def local_lifetime() -> str:
    """Return it for this user's local cluster."""
    return "A run goes on when this kernel ends; the cluster ends some time after its last client and run."


def lifetime_of(client: Any) -> str:
    """Return it for a cluster that somebody else started, in words.

    Parameters
    ----------
    client : distributed.Client
        Its ``cluster`` is the object that started the scheduler, where this process did: a LocalCluster, a
        LocalCUDACluster or a JobQueueCluster holds the scheduler in this process; a KubeCluster has it elsewhere and
        ends it with this process unless told otherwise.
    """
    cluster, address = getattr(client, "cluster", None), str(client.scheduler.address)
    if cluster is None:
        return f"A run goes on when this kernel ends, and as long as the scheduler at {address} lives."
    name = type(cluster).__name__
    limited = " A worker whose job runs out costs a restart from the last checkpoint." if _has_jobs(cluster) else ""
    if _is_here(cluster):
        fix = "For longer runs start `dask scheduler` on its own, let the workers join it, and connect to its address."
        return f"A run ends with this kernel, whose {name} holds the scheduler. {fix}{limited}"
    if getattr(cluster, "shutdown_on_close", False):
        return f"A run ends with this kernel, as {name} closes with it (shutdown_on_close=False lets it live).{limited}"
    return f"A run goes on when this kernel ends, and as long as the scheduler of {name} at {address} lives.{limited}"


def _is_here(cluster: Any) -> bool:
    """Say whether the scheduler lives in this process, or is its child (a job of its own it is not)."""
    from distributed import Scheduler

    return isinstance(getattr(cluster, "scheduler", None), Scheduler)


def _has_jobs(cluster: Any) -> bool:
    return hasattr(cluster, "job_script") or hasattr(cluster, "job_cls")
