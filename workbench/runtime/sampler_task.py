"""A sampler: a long-running Dask task that makes batches for all trainers of a run until they hang up.

It connects to each trainer's ring, takes turns among those that ask, and writes the batches into their slots (on this
host) or sends them (to another). It keeps nothing: a batch is a function of plan and request, so that any sampler can
make it.
"""

from __future__ import annotations

import os
import selectors
import socket
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.gather import BatchMaker, BatchPlan, BatchRequest
from workbench.runtime import frames
from workbench.runtime.meter import Meter
from workbench.runtime.ring import Slot, host_identity, layout_of

MAX_FDS = 253  # of one message (Linux)


class _Trainer:
    """The connection to one trainer."""

    def __init__(self, address: dict[str, Any], hello: frames.Message) -> None:
        self._is_local = address["host_identity"] == host_identity()
        self.sock = socket.socket(socket.AF_UNIX if self._is_local else socket.AF_INET)
        try:
            self.sock.connect(address["unix"] if self._is_local else tuple(address["tcp"]))
            frames.send(self.sock, {**hello, "token": address["token"], "is_local": self._is_local})
            greeting, fds = frames.recv(self.sock, max_fds=MAX_FDS)
        except (OSError, EOFError):
            self.sock.close()
            raise
        self._slots = [Slot(fd) for fd in fds]
        self.maker = BatchMaker(BatchPlan.from_json(greeting["plan"]))

    def serve(self, extra: frames.Message) -> None:
        """Answer one request; raise ``EOFError`` or ``OSError`` where the trainer has gone."""
        message, fds = frames.recv(self.sock, max_fds=1)
        if fds:  # the slot was replaced
            self._slots[message["slot"]].close()
            self._slots[message["slot"]] = Slot(fds[0])
        try:
            arrays = self.maker.answer(BatchRequest(**message["request"])).to_arrays()
        except Exception:
            frames.send(self.sock, {"number": message["number"], "error": traceback.format_exc()})
            return
        self._reply(message, arrays, extra)

    def _reply(self, message: frames.Message, arrays: dict[str, Any], extra: frames.Message) -> None:
        if self._is_local:
            layout, num_bytes = self._slots[message["slot"]].write(arrays)
        else:
            layout, num_bytes = layout_of(arrays)
        frames.send(self.sock, {"number": message["number"], "layout": layout, "num_bytes": num_bytes, **extra})
        if not self._is_local:
            for array in arrays.values():
                self.sock.sendall(memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8)))  # type: ignore[arg-type]  # an array is a buffer

    def close(self) -> None:
        self.sock.close()
        for slot in self._slots:
            slot.close()


def serve_trainers(addresses: Sequence[dict[str, Any]], sampler: int, worker: str = "") -> int:
    """Make batches for the trainers at `addresses` until all have hung up; return how many were made.

    Parameters
    ----------
    addresses : sequence of dict
        What each rank's source says of itself (``RemoteSource.address``).
    sampler : int
        The sampler's index, for events.
    """
    hello = {"sampler": sampler, "worker": worker or _worker_name(), "pid": os.getpid()}
    selector, num_made, meter = selectors.DefaultSelector(), 0, Meter()
    for address in addresses:
        try:
            trainer = _Trainer(address, hello)
        except (OSError, EOFError):
            continue  # it has finished already, or is gone
        selector.register(trainer.sock, selectors.EVENT_READ, trainer)
    while selector.get_map():
        for key, _ in selector.select():
            trainer = key.data
            try:
                trainer.serve(meter.read())
                num_made += 1
            except (OSError, EOFError):
                selector.unregister(trainer.sock)
                trainer.close()
    selector.close()
    return num_made


def _worker_name() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().name)
    except ValueError:
        return ""
