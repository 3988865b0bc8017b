"""Clusters: the local one, which outlives the kernel, and any that Dask knows."""

from __future__ import annotations

import contextlib
import logging
import sys
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from workbench.core.config import RunConfig
from workbench.core.errors import Findings, InputError
from workbench.runtime.ask import ask, gone, is_listening
from workbench.runtime.cluster_files import ClusterFiles
from workbench.runtime.continuation import check_resumable
from workbench.runtime.dask_client import open_client, quieten_dask
from workbench.runtime.dask_settings import LOCAL
from workbench.runtime.lifetime import lifetime_of, local_lifetime
from workbench.runtime.local_cluster import check_room, find_or_start, stop_local
from workbench.runtime.run import Run
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_records import Status
from workbench.runtime.versions import check_versions, own_versions

log = logging.getLogger(__name__)
IDLE_S = 30 * 60.0


def connect(
    target: Any = None,
    *,
    trainers: int = 2,
    samplers: int = 1,
    idle_s: float = IDLE_S,
) -> Cluster:
    """Return a cluster to run on.

    Parameters
    ----------
    target : str, distributed.Client or cluster object, optional
        A scheduler's address, a client of one, or what Dask calls a cluster (LocalCUDACluster, SLURMCluster,
        KubeCluster). By default this user's local cluster: the one that lives, or a new one that outlives this process.
    trainers, samplers : int
        Workers of each kind that the local cluster has at least.
    idle_s : float
        Seconds without client and run after which a new local cluster ends.

    Raises
    ------
    InputError
        Where the target is none of these, nothing answers there, or other versions run there.
    """
    _check(trainers, samplers)
    quieten_dask()
    if target is None:
        return _connect_local(trainers, samplers, idle_s)
    from distributed import Client

    if isinstance(target, Client):
        return Cluster(target, owns_client=False).prepare()
    address = str(getattr(target, "scheduler_address", target))
    return at_address(address) or _remember(Cluster(open_client(target, address), owns_client=True).prepare())


def _check(trainers: int, samplers: int) -> None:
    findings = Findings("connect")
    for name, value, least in (("trainers", trainers, 1), ("samplers", samplers, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            findings.add(name, f"a whole number of at least {least}", repr(value), f"pass {name}={least} or more")
    findings.raise_if_any()


_open: dict[str, Cluster] = {}  # this process's own connections by address: connecting twice gives one


def at_address(address: str) -> Cluster | None:
    """Return the cluster of this process that is connected to a scheduler, or None."""
    cluster = _open.get(address)
    return cluster if cluster is not None and cluster.client.status == "running" else None


def _remember(cluster: Cluster) -> Cluster:
    _open[cluster.address] = cluster
    return cluster


def _connect_local(trainers: int, samplers: int, idle_s: float) -> Cluster:
    check_room(trainers, samplers)
    files = ClusterFiles.of_this_environment()
    address = find_or_start(files, trainers, samplers, idle_s)["address"]
    cluster = at_address(address) or _remember(
        Cluster(open_client(address, address, LOCAL), owns_client=True, files=files)
    )
    cluster.scale(trainers=trainers, samplers=samplers)
    return cluster


def supervisor_of(folder: RunFolder) -> Cluster | None:
    """Return a connection to the scheduler that a run was given to, or None where nothing answers there."""
    address = folder.cluster.get("address", "")
    if not address or (known := at_address(address)) is not None:
        return known if address else None
    files = ClusterFiles.of_this_environment()
    local = files.read()
    if local is not None and local["address"] == address:
        quieten_dask()
        return _remember(Cluster(open_client(address, address, LOCAL), owns_client=True, files=files))
    if is_listening(address):
        with contextlib.suppress(InputError):
            return connect(address)
    return None


def own_paths() -> list[str]:
    """Return where this process finds modules, so that a rank finds the user's beside the notebook too."""
    return [str(Path(path or ".").resolve()) for path in sys.path if Path(path or ".").is_dir()]


class Cluster:
    """A Dask cluster with the workbench's plugins on it.

    Parameters
    ----------
    client : distributed.Client
    owns_client : bool
        Whether closing the cluster closes the client.
    files : ClusterFiles, optional
        Those of the local cluster, where it is that.
    """

    def __init__(self, client: Any, *, owns_client: bool, files: ClusterFiles | None = None) -> None:
        self.client = client
        self._owns_client, self._files = owns_client, files
        self._runs: WeakValueDictionary[str, Run] = WeakValueDictionary()  # one reader a run: Dask has one handler

    @property
    def address(self) -> str:
        """Return the scheduler's address."""
        return str(self.client.scheduler.address)

    @property
    def is_local(self) -> bool:
        """Say whether it is this user's own local cluster, which can grow and outlives the kernel."""
        return self._files is not None

    def prepare(self) -> Cluster:
        """Put the run manager and the rank hosts on a cluster that others started."""
        from workbench.runtime.rank_host import RankHost
        from workbench.runtime.run_manager import RunManager

        if getattr(self.client, "asynchronous", False):
            findings = Findings("connect")
            fix = "make it by Client(address) without asynchronous=True"
            findings.add("target", "a client that is used synchronously", "an asynchronous Client", fix)
            findings.raise_if_any()
        check_versions(self.client)
        self.client.register_plugin(RunManager())
        self.client.register_plugin(RankHost(versions=own_versions()))
        return self

    @property
    def lifetime(self) -> str:
        """Say how long a run here can live."""
        return local_lifetime() if self.is_local else lifetime_of(self.client)

    # ---- size

    def workers(self) -> list[dict[str, Any]]:
        """Return name, address, host and resources of every worker."""
        if self.client.status != "running":
            raise gone("cluster")
        info = self.client.scheduler_info(n_workers=-1)["workers"]
        return [
            {
                "name": str(worker["name"]),
                "address": address,
                "host": worker["host"],
                "trainer": int(worker["resources"].get("trainer", 0)),
                "sampler": int(worker["resources"].get("sampler", 0)),
            }
            for address, worker in info.items()
        ]

    def scale(self, *, trainers: int = 0, samplers: int = 0) -> None:
        """Grow the local cluster to at least so many workers of each kind.

        Raises
        ------
        InputError
            Where the cluster is not the local one and has fewer, or this machine has no room for so many.
        """
        if self.is_local:
            check_room(trainers, samplers)
            ask(self.client, "workbench_scale", subject="cluster", trainers=trainers, samplers=samplers)
            return
        findings, workers = Findings("cluster"), self.workers()
        for name, key, wanted in (("trainers", "trainer", trainers), ("samplers", "sampler", samplers)):
            present = sum(worker[key] for worker in workers)
            if present < wanted:
                fix = f"start workers with --resources '{key}=1', or ask for {name}={present}"
                findings.add(name, f"at most the {present} that {self.address} has", wanted, fix)
        findings.raise_if_any()

    # ---- runs

    def start(self, resolved: Any) -> Run:
        """Write the folder of a run and hand it to the scheduler; returns at once.

        Parameters
        ----------
        resolved : ResolvedRun
            What ``workbench.train.resolve`` made of the keywords.
        """
        notes = [str(finding) for finding in resolved.warnings]
        return self.submit(resolved.config, summary=resolved.summary, module=resolved.module, options={"notes": notes})

    def submit(
        self, config: RunConfig, *, summary: str = "", module: Any = None, options: dict[str, Any] | None = None
    ) -> Run:
        """Start a run of a configuration; `options` are the run manager's (limits, what ranks are told)."""
        self.scale(trainers=config.trainers, samplers=config.samplers)
        folder = RunFolder.create(config, summary)
        if module is not None:
            folder.keep_module(module)
        return self.hand_over(folder, dict(options or {}), "launch")

    def resume(self, run_id: str) -> Run:
        """Go on with a run from its newest checkpoint: one that was stopped, has failed or lost its scheduler.

        Raises
        ------
        InputError
            Where the run is still at work, or has finished.
        """
        folder = RunFolder.find(run_id)
        supervisor = supervisor_of(folder)
        known = ask(supervisor.client, "workbench_runs", subject=f"run {folder.id}") if supervisor else {}
        check_resumable(folder.id, folder.milestones(), is_supervised=folder.id in known)
        config = folder.config
        self.scale(trainers=config.trainers, samplers=config.samplers)
        return self.hand_over(folder, {}, "resume", trusted=False)

    def hand_over(self, folder: RunFolder, options: dict[str, Any], subject: str, *, trusted: bool = True) -> Run:
        """Let the scheduler supervise a run from now on."""
        folder.note_cluster(self.address)
        options["rank"] = {"paths": own_paths()} | options.get("rank", {})
        fields = {"run_id": folder.id, "folder": str(folder.path), "options": options}
        remains = f"The run's folder remains: {folder.path}"
        ask(self.client, "workbench_start", subject=subject, remains=remains, **fields)
        return self._hold(Run(folder, self.client, trusted=trusted))

    def attach(self, run_id: str) -> Run:
        """Return a run by its id: live where this cluster supervises it, else as its folder tells it."""
        folder = RunFolder.find(run_id)
        held = self._runs.get(folder.id)
        if held is not None and not held.has_ended:
            return held
        remains = f"Its folder remains: {folder.path}"
        known = ask(self.client, "workbench_runs", subject=f"run {folder.id}", remains=remains)
        if held is not None and Status(known.get(folder.id, held.status)).ended:
            return held  # else somebody has resumed it since
        return self._hold(Run(folder, self.client if folder.id in known else None))

    def _hold(self, run: Run) -> Run:
        self._runs[run.id] = run
        return run

    # ---- end

    def close(self, *, force: bool = False) -> None:
        """Hang up, and end the local cluster unless a run or another client still needs it; `force` ends it anyway."""
        stops = False
        if self._files is not None and self.client.status == "running":
            with contextlib.suppress(OSError):
                ask = self.client.scheduler.workbench_needed
                stops = force or not self.client.sync(ask, client=self.client.id)
        if self._owns_client:
            self.client.close()
        if stops:
            stop_local(self._files)

    def __repr__(self) -> str:
        kind = "local cluster" if self.is_local else "cluster"
        if self.client.status != "running":
            return f"Cluster({kind} at {self.address}, closed)"
        present = {key: sum(worker[key] for worker in self.workers()) for key in ("trainer", "sampler")}
        wanted = present
        if self.is_local:
            wanted = self.client.sync(self.client.scheduler.workbench_scale, trainers=0, samplers=0)
        size = ", ".join(f"{count} {role}{'s' * (count != 1)}" for role, count in wanted.items())
        return f"Cluster({kind} at {self.address}, {size}{'' if wanted == present else ', starting'})"
