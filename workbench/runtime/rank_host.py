"""The rank host: a Dask worker plugin that holds ranks as child processes and carries their messages."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Status, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from workbench.runtime import frames
from workbench.runtime.versions import difference_text, own_versions
from workbench.runtime.zygote_link import ZygoteLink

log = logging.getLogger(__name__)
LOG_TAIL_BYTES = 4000
RETRY_S = 2.0
LOOK_EVERY_S = 0.5
STOPPED_S = 2.0  # a debugger's or a person's short halt is none of our business


def guarded(handler: Callable[..., None]) -> Callable[..., None]:
    """Keep an exception inside: one that leaves a stream handler would tear the worker from the scheduler."""

    @functools.wraps(handler)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            handler(*args, **kwargs)
        except Exception:
            log.exception("%s failed", handler.__qualname__)

    return call


@dataclass(slots=True)
class _Rank:
    """One rank as its host sees it; messages wait until its socket is open."""

    run_id: str
    generation: int
    rank: int
    log_path: Path
    writer: asyncio.StreamWriter | None = None
    waiting: list[frames.Message] = field(default_factory=list)
    hung_up: bool = False
    killed: bool = False
    exited: tuple[int, int] | None = None

    def send(self, message: frames.Message) -> None:
        if self.writer is None:
            self.waiting.append(message)
        elif not self.writer.is_closing():
            self.writer.write(frames.pack(message))


def rank_key(run_id: str, generation: int, rank: int) -> str:
    """Return the name of one start of a rank, unique on a worker."""
    return f"{run_id}/{generation}/{rank}"


class RankHost(WorkerPlugin):  # type: ignore[misc]  # distributed is untyped
    """Starts, steers and ends the ranks that the run manager places on this worker.

    Parameters
    ----------
    cluster_key : str, optional
        Names the zygote to use; by default one for the scheduler's address.
    versions : mapping, optional
        What the client runs: a worker that has another version, also one that joins later, holds no rank.
    """

    name = "workbench-rank-host"
    idempotent = True

    def __init__(self, cluster_key: str = "", versions: Mapping[str, str] | None = None) -> None:
        self.cluster_key, self.versions = cluster_key, versions

    async def setup(self, worker: Worker) -> None:
        self._worker = worker
        self._ranks: dict[str, _Rank] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        if not {"trainer", "sampler"} & set(worker.state.total_resources):
            await worker.set_resources(trainer=1, sampler=1)
        worker.stream_handlers.update(
            {
                "workbench_start_rank": guarded(self._on_start),
                "workbench_send_rank": guarded(self._on_send),
                "workbench_kill_rank": guarded(self._on_kill),
            }
        )
        self._linked = asyncio.Event()
        if self.versions and (text := difference_text(self.versions, own_versions(), has_ranks=True)):
            log.error("this worker holds no rank: it has %s", text)
            self._spawn(self._refuse(f"worker {worker.name} holds no rank: it has {text}"))
            return
        if worker.state.total_resources.get("trainer"):
            self._spawn(self._keep_zygote())
            self._spawn(self._watch_for_stopped())

    async def teardown(self, worker: Worker) -> None:
        for task in self._tasks:
            task.cancel()
        if hasattr(self, "_link"):
            self._link.close()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, op: str, **fields: Any) -> None:
        self._worker.batched_send({"op": op, **fields})

    async def _refuse(self, text: str) -> None:
        while self._worker.status != Status.running:  # what is told before it has joined is lost
            await asyncio.sleep(0.1)
        self._tell("workbench_host_failed", text=text)

    async def _keep_zygote(self) -> None:
        address = f"{self._worker.scheduler.address} {self._worker.ip} {sys.executable}"
        key = self.cluster_key or hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()[:12]
        while True:
            self._link = ZygoteLink(key, self._on_exit)
            try:
                info = await self._link.connect()
            except (asyncio.IncompleteReadError, OSError) as error:
                self._link.close()
                text = f"worker {self._worker.name} cannot start ranks, it tries again: {error}. See the zygote's log"
                self._tell("workbench_host_failed", text=text)
                await asyncio.sleep(RETRY_S)
                continue
            self._linked.set()
            self._tell("workbench_host_ready", info=info)
            await self._link.listen()
            self._linked.clear()
            self._tell("workbench_host_gone")
            log.warning("the zygote ended; starting another")

    async def _watch_for_stopped(self) -> None:
        """Tell of ranks that are stopped by a signal: they are not gone, and never say anything."""
        since_s: dict[str, float] = {}
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            stopped = {key for key in self._ranks if self._linked.is_set() and self._link.is_stopped(key)}
            now_s = time.monotonic()
            since_s = {key: since_s.get(key, now_s) for key in stopped}
            for key, began_s in since_s.items():
                if now_s - began_s > STOPPED_S:
                    message = {"op": "still", "seconds": now_s - began_s, "is_stopped": True}
                    self._tell("workbench_rank_said", **self._who(self._ranks[key]), message=message)

    # ---- what the run manager says

    def _on_start(self, spec: dict[str, Any]) -> None:
        log_path = rank_log(Path(spec["folder"]), spec["rank"])
        rank = _Rank(spec["run_id"], spec["generation"], spec["rank"], log_path)
        self._ranks[rank_key(rank.run_id, rank.generation, rank.rank)] = rank
        self._spawn(self._run_rank(rank, spec))

    def _on_send(self, run_id: str, generation: int, rank: int, message: frames.Message) -> None:
        if held := self._ranks.get(rank_key(run_id, generation, rank)):
            held.send(message)

    def _on_kill(self, run_id: str, generation: int, rank: int) -> None:
        key = rank_key(run_id, generation, rank)
        if held := self._ranks.get(key):
            held.killed = True  # it may wait for the zygote still: then it is not forked at all
            if self._linked.is_set():
                self._link.kill(key, 9)

    async def _run_rank(self, rank: _Rank, spec: dict[str, Any]) -> None:
        key = rank_key(rank.run_id, rank.generation, rank.rank)
        await self._linked.wait()
        if rank.killed:
            rank.hung_up = True
            self._on_exit(key, 0, 9)
            return
        mine, theirs = socket.socketpair()
        try:
            env = _environment(spec, dict(os.environ))
            self._link.fork(key, str(rank.log_path), env, theirs)
        except OSError as error:
            log.warning("cannot start %s: %s", key, error)
            rank.hung_up = True
            self._on_exit(key, 1, 0)
            return
        finally:
            theirs.close()
        reader, rank.writer = await asyncio.open_unix_connection(sock=mine)
        spec = {**spec, "tls": tls_of(self._worker)}  # over a socket that two processes share, and in no log
        for message in ({"op": "spec", "spec": spec}, *rank.waiting):
            rank.send(message)
        try:
            while True:
                message = await frames.read(reader)
                self._tell("workbench_rank_said", **self._who(rank), message=message)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            rank.writer.close()
        rank.hung_up = True
        self._gone(key)

    # ---- the end of a rank: its socket is drained first, so that no event comes after its exit

    def _on_exit(self, key: str, code: int, signal_number: int) -> None:
        if key in self._ranks:
            self._ranks[key].exited = (code, signal_number)
            self._gone(key)

    def _gone(self, key: str) -> None:
        rank = self._ranks.get(key)
        if rank is None or rank.exited is None or not rank.hung_up:
            return
        del self._ranks[key]
        code, signal_number = rank.exited
        tail = read_tail(rank.log_path)
        self._tell("workbench_rank_exited", **self._who(rank), code=code, signal=signal_number, log_tail=tail)

    @staticmethod
    def _who(rank: _Rank) -> dict[str, Any]:
        return {"run_id": rank.run_id, "generation": rank.generation, "rank": rank.rank}


def _environment(spec: dict[str, Any], worker_env: dict[str, str]) -> dict[str, str]:
    """Return what differs in a rank's environment: one visible GPU, and where the workbench's home is.

    dask-cuda gives each worker a rotated list of all GPUs, so that a worker's own GPU is the first of its list.
    It is set before anything in the child touches CUDA.
    """
    env = {"WORKBENCH_HOME": worker_env["WORKBENCH_HOME"]} if "WORKBENCH_HOME" in worker_env else {}
    visible = worker_env.get("CUDA_VISIBLE_DEVICES")
    if visible:
        env["CUDA_VISIBLE_DEVICES"] = visible.split(",")[0]
    elif visible is None:
        env["CUDA_VISIBLE_DEVICES"] = str(spec["host_index"])
    return env


def tls_of(worker: Worker) -> dict[str, str]:
    """Return what a client on this worker's host needs to speak TLS with the scheduler; empty where TCP will do."""
    if not str(worker.scheduler.address).startswith("tls://"):
        return {}
    security = worker.security
    fields = {"tls_ca_file": security.tls_ca_file}
    fields |= {"tls_client_cert": security.tls_worker_cert, "tls_client_key": security.tls_worker_key}
    return {name: value for name, value in fields.items() if value}


def rank_log(folder: Path, rank: int) -> Path:
    """Return where a rank's output lies in its run's folder."""
    return folder / "logs" / f"rank{rank}.log"


def read_tail(path: Path) -> str:
    """Return the last lines of a log file; empty where there is none."""
    try:
        data = path.read_bytes()[-LOG_TAIL_BYTES:]
    except OSError:
        return ""
    return data.decode(errors="replace")
