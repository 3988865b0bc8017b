"""The main program of a rank: joins the gang, trains, says how it ended, and leaves without looking back."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import logging
import os
import queue
import socket
import sys
import traceback
from typing import Any

from workbench.runtime import frames
from workbench.runtime.heap import keep_freed_memory
from workbench.runtime.rank_link import RankLink

log = logging.getLogger(__name__)
_TALKERS = (
    __name__,
    "workbench.runtime.rank_context",
    "workbench.runtime.sampler_crew",
    "workbench.train.transport",
    "workbench.train.server_link",
)
_CALLERS = ("workbench.runtime.", "workbench.magics")  # of what a person wrote
PEER_SIGNS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Read error",
    "Write error",
    "Broken pipe",
    "Timed out waiting",
    "Connection refused",
    "wait timeout",
    "Application timeout",
    "The parameter server",
)


def main(sock: socket.socket) -> None:
    """Run the rank that the first message on `sock` describes; never returns."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    keep_freed_memory()
    spec = frames.recv(sock)[0]["spec"]
    link = RankLink(sock, spec["rank"], spec["generation"], spec["worker"])
    link.counted_step = spec["resume_step"]
    link.start()
    code = 0
    try:
        report = _train(link, spec)
    except BaseException as error:
        code = 1
        with contextlib.suppress(OSError):  # a full disk must not swallow the report
            traceback.print_exc()
        reason, trace = classify(error, spec["world_size"]), trace_of(error)
        report = {"reason": reason, "cause": describe(error), "traceback": trace}
    try:
        link.send({"op": "report", **report})
    except OSError:
        code = code or 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # destructors of a process group can block on peers that are gone


def _train(link: RankLink, spec: dict[str, Any]) -> dict[str, Any]:
    import torch

    from workbench.runtime.rank_context import HostedRank
    from workbench.train.partitioned import part_of

    sys.path.extend(path for path in spec.get("paths", ()) if path not in sys.path)
    torch.set_num_threads(int(spec["threads"]))
    device = choose_device(spec)
    group = join_gang(link, spec, device)
    context = HostedRank(link, spec, device, group)
    link.emit(
        "rank_ready",
        pid=os.getpid(),
        host=spec["host"],
        worker=spec["worker"],
        part=part_of(context.config, context.rank),
        device=str(device),
        num_threads=torch.get_num_threads(),
    )
    link.flush()
    module, _, name = spec["entry"].partition(":")
    try:
        outcome = getattr(importlib.import_module(module), name)(context)
        context.finish()
    finally:
        context.close()
    return {"reason": outcome.status, "step": outcome.step, "elapsed_s": outcome.elapsed_s}


def choose_device(spec: dict[str, Any]) -> Any:
    """Return ``cuda:0`` where this rank was given a GPU, else the CPU; the first touch of CUDA happens here."""
    import torch

    if spec["device"] != "cpu" and torch.cuda.is_available():
        device = torch.device("cuda", 0)  # the only one that CUDA_VISIBLE_DEVICES shows
        torch.cuda.set_device(device)
        return device
    return torch.device("cpu")


def join_gang(link: RankLink, spec: dict[str, Any], device: Any) -> Any:
    """Return the process group of the gang, or None for a gang of one.

    Rank 0 opens a store on a port that the system picks, and tells it; the run manager hands the address on.
    """
    from torch.distributed import PrefixStore, TCPStore, group, init_process_group  # type: ignore[attr-defined]

    if spec["world_size"] == 1:
        return None
    patience = datetime.timedelta(seconds=spec["timeout_s"])
    bind_to_interface(spec["host"])
    shared = {"world_size": spec["world_size"], "timeout": patience, "wait_for_workers": False}
    if spec["rank"] == 0:
        store = TCPStore(spec["host"], 0, is_master=True, **shared)
        link.send({"op": "store", "host": spec["host"], "port": store.port})
    else:
        try:
            host, port = link.store.get(timeout=spec["timeout_s"])
        except queue.Empty:
            raise TimeoutError(f"Timed out waiting for rank 0 for {spec['timeout_s']} s") from None
        store = TCPStore(host, port, is_master=False, **shared)
    # With a GPU, control messages stay CPU tensors on gloo, where a peer's death also shows at once.
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    init_process_group(
        backend,
        store=PrefixStore(f"generation{spec['generation']}", store),
        rank=spec["rank"],
        world_size=spec["world_size"],
        timeout=patience,
        **({"device_id": device} if device.type == "cuda" else {}),
    )
    return group.WORLD


def bind_to_interface(host: str) -> None:
    """Point gloo and nccl at the interface that owns `host`; they would take what the host's name resolves to."""
    import psutil

    for name, addresses in psutil.net_if_addrs().items():
        if any(address.address == host for address in addresses):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
            os.environ.setdefault("NCCL_SOCKET_IFNAME", name)


def classify(error: BaseException, world_size: int) -> str:
    """Return the kind of failure: the echo of a peer's end, memory, or an error of the code.

    Only what was raised while ranks talked to each other is an echo: code of the user's may lose a connection too.
    """
    import torch

    text = str(error)
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator: can't allocate" in text:
        return "memory"
    gone = isinstance(error, (ConnectionError, TimeoutError, torch.distributed.DistError, RuntimeError))
    if world_size > 1 and gone and any(sign in text for sign in PEER_SIGNS) and _is_from_talk(error):
        return "peer"
    return "error"


def trace_of(error: BaseException) -> str:
    """Return an error's traceback without the frames of ours above the code that they called."""
    trace = error.__traceback__
    while trace and trace.tb_next and str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_CALLERS):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-16000:]


def _is_from_talk(error: BaseException) -> bool:
    """Say whether the innermost Python code at an error's origin is that of a collective."""
    frames_of = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    module = str(frames_of[-1].f_globals.get("__name__", "")) if frames_of else ""
    return module in _TALKERS or module.startswith("torch.distributed.")


def describe(error: BaseException) -> str:
    """Return an error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:2000]
