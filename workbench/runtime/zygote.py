"""The zygote: one process a host and cluster that has torch imported once and forks a rank from it on request.

A rank so starts in a fraction of a second. The zygote has a single thread (a fork copies no other) and never touches
CUDA (a fork after CUDA has begun is fatal). It listens on an abstract unix socket: nothing to leave behind, and only
processes of the same user are served. When a worker's connection ends, the ranks that it asked for are killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import select
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.runtime import frames

PRELOAD = (
    "numpy",
    "psutil",
    "cloudpickle",
    "torch",
    "torch.distributed",
    "torch._dynamo",  # imported by the first optimizer, at the cost of seconds, where it is not here already
    "distributed",
    "torch_geometric.nn",
    "workbench.runtime.rank",
    "workbench.runtime.rank_context",
    "workbench.runtime.sampler_crew",
    "workbench.train",
    "workbench.models",
)
FIRST_HOST_S = 60.0
IDLE_S = 10.0
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's allocator starts a thread otherwise
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asking whether there is a GPU must not initialise CUDA
}
log = logging.getLogger(__name__)


def socket_name(cluster_key: str) -> str:
    """Return the abstract socket's name for a cluster on this host."""
    return f"\0workbench-zygote-{os.getuid()}-{cluster_key}"


@dataclass(slots=True)
class _Zygote:
    listener: socket.socket
    wake: int
    hosts: set[socket.socket] = field(default_factory=set)
    ranks: dict[int, tuple[socket.socket, str]] = field(default_factory=dict)
    idle_at_s: float = field(default_factory=lambda: time.monotonic() + FIRST_HOST_S)

    def serve(self, ready: frames.Message) -> None:
        """Serve until no worker has been connected for ``IDLE_S`` seconds."""
        while self.hosts or time.monotonic() < self.idle_at_s:
            watched: list[Any] = [self.listener, self.wake, *self.hosts]
            readable, _, _ = select.select(watched, [], [], 2.0)
            for item in readable:
                if item is self.listener:
                    self._accept(ready)
                elif item is self.wake:
                    os.read(self.wake, 4096)
                    self._reap()
                elif item in self.hosts:
                    self._hear(item)

    def _accept(self, ready: frames.Message) -> None:
        host, _ = self.listener.accept()
        if frames.peer_uid(host) != os.getuid():
            host.close()
            return
        self.hosts.add(host)
        self._tell(host, ready)

    def _hear(self, host: socket.socket) -> None:
        try:
            message, fds = frames.recv(host, max_fds=1)
        except (EOFError, OSError):
            self._drop(host)
            return
        if message["op"] == "fork":
            pid = self._fork(message, fds[0])
            os.close(fds[0])
            self.ranks[pid] = (host, message["key"])
            self._tell(host, {"op": "forked", "key": message["key"], "pid": pid})

    def _drop(self, host: socket.socket) -> None:
        self.hosts.discard(host)
        host.close()
        self.idle_at_s = time.monotonic() + IDLE_S
        for pid, (owner, _) in self.ranks.items():
            if owner is host:
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            host, key = self.ranks.pop(pid, (None, ""))
            if host in self.hosts and host is not None:
                code, sig = os.waitstatus_to_exitcode(status), 0
                code, sig = (0, -code) if code < 0 else (code, 0)
                self._tell(host, {"op": "exited", "key": key, "pid": pid, "code": code, "signal": sig})

    def _tell(self, host: socket.socket, message: frames.Message) -> None:
        try:
            frames.send(host, message)
        except OSError:
            self._drop(host)

    def _fork(self, message: frames.Message, control_fd: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for sock in (self.listener, *self.hosts):
                sock.close()
            os.close(self.wake)
            _become_rank(message, control_fd)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)


def _become_rank(message: frames.Message, control_fd: int) -> None:
    os.setsid()
    die_with_parent()
    os.environ.update(message["env"])
    with contextlib.suppress(OSError):  # on a full disk it writes where the zygote does
        out = os.open(message["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.close(out)
    gc.unfreeze()
    from workbench.runtime import rank

    rank.main(socket.socket(fileno=control_fd))


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends (Linux)."""
    import ctypes

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def preload(modules: tuple[str, ...] = PRELOAD) -> None:
    """Import what every rank needs."""
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # objects that live for ever are not touched by the collector, so their pages stay shared


def main(cluster_key: str) -> None:
    """Listen first (a second zygote ends here), import, then serve; connections wait meanwhile."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(socket_name(cluster_key))
    except OSError:
        log.info("another zygote serves %s", cluster_key)
        return
    listener.listen(64)
    started = time.perf_counter()
    preload()
    wake, notify = os.pipe()
    os.set_blocking(notify, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(notify)
    num_threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    import_s = time.perf_counter() - started
    if num_threads > 1:
        log.warning("the zygote has %d threads; a forked rank may hang", num_threads)
    _Zygote(listener, wake).serve({"op": "ready", "pid": os.getpid(), "num_threads": num_threads, "import_s": import_s})


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(sys.argv[1])
