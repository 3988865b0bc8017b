"""The process of a local cluster: Dask's scheduler with the run manager, and the workers as its children.

It is started detached (``python -m workbench.runtime.cluster_process FOLDER``), so that it outlives the kernel that
started it. A worker that dies is started again. It ends by itself after a time without client and run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from workbench.core.home import home
from workbench.runtime.cluster_files import ClusterFiles
from workbench.runtime.dask_settings import LOCAL
from workbench.runtime.zygote import ENVIRONMENT
from workbench.runtime.zygote_link import spawn_zygote

log = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"  # every address, that of the HTTP server too, which would listen everywhere
IDLE_CHECK_S = 5.0
RESPAWN_PAUSE_S = 1.0


class LocalCluster:
    """A scheduler, its workers, and their upkeep.

    Parameters
    ----------
    files : ClusterFiles
        Where address, locks and logs lie.
    options : dict
        ``trainers``, ``samplers``: workers to begin with. ``idle_s``: life without client and run.
    """

    def __init__(self, files: ClusterFiles, options: dict[str, Any]) -> None:
        self._files, self._options = files, options
        self._wanted = {"trainer": 0, "sampler": 0}
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._keepers: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    async def run(self, zygote: subprocess.Popen[bytes]) -> None:
        """Serve until asked to end or idle for long."""
        # The first lines of this process have started the zygote already: its import of torch takes the longest.
        import dask
        from distributed import Scheduler

        from workbench.runtime.rank_host import RankHost
        from workbench.runtime.run_manager import RunManager

        dask.config.set(LOCAL)
        self._zygote = zygote
        self._manager = RunManager()
        scheduler = Scheduler(
            protocol="tls" if dask.config.get("distributed.comm.require-encryption") else "tcp",
            host=LOOPBACK,
            port=0,
            dashboard=False,
            dashboard_address=f"{LOOPBACK}:0",
            idle_timeout=None,
        )
        await scheduler
        self._scheduler = scheduler
        await scheduler.register_scheduler_plugin(self._manager, name=RunManager.name, idempotent=True)
        from distributed.protocol.pickle import dumps

        host = dumps(RankHost(self._files.key))
        await scheduler.register_worker_plugin(None, host, name=RankHost.name, idempotent=True)
        scheduler.handlers["workbench_scale"] = self.scale
        scheduler.handlers["workbench_needed"] = self.needed
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._closing.set)
        await self.scale(self._options["trainers"], self._options["samplers"])
        self._publish()
        await self._wait()
        await self._end(scheduler)

    async def scale(self, trainers: int, samplers: int) -> dict[str, int]:
        """Grow to at least so many workers of each kind; return how many there are to be."""
        for role, count in (("trainer", trainers), ("sampler", samplers)):
            for index in range(self._wanted[role], count):
                self._keepers.add(asyncio.ensure_future(self._keep_worker(role, index)))
            self._wanted[role] = max(self._wanted[role], count)
        return dict(self._wanted)

    async def needed(self, client: str) -> bool:
        """Say whether a run, or another client than this one, still needs the cluster."""
        others = set(self._scheduler.clients) - {"fire-and-forget", client}
        return bool(others or self._manager.num_active)

    async def _keep_worker(self, role: str, index: int) -> None:
        name = f"{role}{index}"
        while not self._closing.is_set():
            process = self._start_worker(role, name)
            self._workers[name] = process
            self._publish()
            while process.poll() is None:
                await asyncio.sleep(0.1)
            if self._closing.is_set():
                return
            log.warning("worker %s ended with %s; starting it again", name, process.returncode)
            await asyncio.sleep(RESPAWN_PAUSE_S)

    def _start_worker(self, role: str, name: str) -> subprocess.Popen[bytes]:
        with self._files.log(name).open("ab") as out:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "workbench.runtime.worker_process",
                    self._scheduler.address,
                    name,
                    role,
                    str(self._files.folder / "scratch"),
                ],
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._files.folder,
                start_new_session=True,  # Linux shares cores between sessions: not all of them as one
            )

    def _publish(self) -> None:
        self._files.write(
            {
                "address": self._scheduler.address,
                "pid": os.getpid(),
                "home": str(home()),
                "zygote_pid": self._zygote.pid,
                "workers": {name: process.pid for name, process in self._workers.items()},
                "started_s": self._options["started_s"],
            }
        )

    async def _wait(self) -> None:
        busy_s = time.monotonic()
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), min(IDLE_CHECK_S, self._options["idle_s"]))
            clients = set(self._scheduler.clients) - {"fire-and-forget"}
            if clients or self._manager.num_active:
                busy_s = time.monotonic()
            elif time.monotonic() - busy_s > self._options["idle_s"]:
                log.info("no client and no run for %s s: ending", self._options["idle_s"])
                return

    async def _end(self, scheduler: Any) -> None:
        self._closing.set()
        (self._files.folder / "cluster.json").unlink(missing_ok=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(scheduler.close(), 5.0)
        for process in (*self._workers.values(), self._zygote):
            process.terminate()
        deadline = time.monotonic() + 3.0
        for process in (*self._workers.values(), self._zygote):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            process.kill()


def main(folder: Path) -> None:
    """Hold the cluster's lock and serve; a second process for the same folder ends at once."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    files = ClusterFiles(folder=folder)
    if files.hold_lock() is None:
        log.warning("another cluster lives in %s", folder)
        return
    options = json.loads((folder / "options.json").read_text())
    with files.log("zygote").open("ab") as out:
        zygote = spawn_zygote(files.key, out)
    asyncio.run(LocalCluster(files, options).run(zygote))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
