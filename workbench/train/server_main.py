"""The parameter server: a process of its own that holds the parameters and the one optimiser.

It imports nothing of the workbench, so that it starts as fast as torch does. Its first frame comes by standard input,
which stays open as long as rank 0 lives: at its end the server ends, so that none is left behind. Ranks speak to it
over TCP. A frame is eight bytes of lengths, a JSON header and a payload of raw numbers; no object is unpickled.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import io
import json
import math
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import torch
from torch import Tensor

ALIVE_S = 1.0  # a rank that waits hears from the server as often
_HEAD = struct.Struct("<IQ")
_MAX_HEADER = 1 << 20
Header = dict[str, Any]


def pack(header: Header, payload: bytes | memoryview = b"") -> bytes:
    """Return what stands before a payload: the lengths and the header."""
    text = json.dumps(header).encode()
    return _HEAD.pack(len(text), len(payload)) + text


def read_frame(read: Callable[[int], bytes], max_payload: int) -> tuple[Header, bytearray]:
    """Return header and payload of the next frame; ``EOFError`` at the end, ``ValueError`` where it is no frame."""
    num_header, num_payload = _HEAD.unpack(_exactly(read, _HEAD.size))
    if num_header > _MAX_HEADER or num_payload > max_payload:
        raise ValueError(f"a frame of {num_header} and {num_payload} bytes")
    header: Header = json.loads(bytes(_exactly(read, num_header)))
    return header, _exactly(read, num_payload)


def _exactly(read: Callable[[int], bytes], count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        chunk = read(min(count - len(data), 1 << 20))
        if not chunk:
            raise EOFError("the peer has closed the connection")
        data += chunk
    return data


def as_bytes(flat: Tensor) -> memoryview:
    """Return a flat tensor's numbers as bytes."""
    return memoryview(flat.detach().cpu().contiguous().numpy()).cast("B")  # type: ignore[arg-type]  # it is a buffer


class ServerState:
    """Parameters, optimiser and the clock of every rank: no sockets, no threads.

    A rank's clock is the last step whose gradient it has pushed. It may read parameters for its next step when no
    rank's clock is more than `bound` steps behind its own. With bound 0 gradients wait until all ranks have pushed:
    they are added in the order of ranks, divided by all seeds, and the optimiser steps once. Else every push is a step
    of the optimiser, with the mean gradient of that rank's seeds.

    Parameters
    ----------
    parameters : list of Tensor
    optimizer : torch.optim.Optimizer
        Over those.
    world_size, bound : int
    """

    def __init__(self, parameters: list[Tensor], optimizer: torch.optim.Optimizer, world_size: int, bound: int) -> None:
        self.parameters, self.optimizer, self.bound = parameters, optimizer, bound
        self.clocks = [0] * world_size
        self.totals = [0.0, 0.0, 0.0]  # loss, seeds, votes of the last step, with bound 0
        self.num_updates = 0
        self.save_at = 0  # the step after which all ranks save, where one of them wished for it
        self._waiting: dict[int, tuple[Tensor, list[float], list[float]]] = {}
        self._broken = False

    def push(self, rank: int, step: int, flat: Tensor, flags: list[float], told: list[float]) -> None:
        """Take a rank's gradient of its summed loss at a step; `told`: loss, seeds, vote."""
        if step != self.clocks[rank] + 1:
            raise ValueError(f"rank {rank} pushes step {step} after step {self.clocks[rank]}")
        if self.bound == 0:
            self._waiting[rank] = (flat, flags, told)
            if len(self._waiting) == len(self.clocks):
                self._together()
        else:
            loss, seeds, vote = told
            self._broken = self._broken or not math.isfinite(loss)
            if seeds and not self._broken:
                self._step(flat / seeds, flags)
            if vote and self.save_at <= min(self.clocks):
                self.save_at = max(self.clocks) + 1  # nobody has been told yet what follows on that step
        self.clocks[rank] = step

    def _together(self) -> None:
        pushed = [self._waiting[rank] for rank in range(len(self.clocks))]
        self._waiting = {}
        flat, flags, told = pushed[0][0].clone(), list(pushed[0][1]), list(pushed[0][2])
        for more, more_flags, more_told in pushed[1:]:
            flat += more
            flags = [a + b for a, b in zip(flags, more_flags, strict=True)]
            told = [a + b for a, b in zip(told, more_told, strict=True)]
        self.totals = told
        if told[1] and math.isfinite(told[0]):
            self._step(flat / told[1], flags)

    def _step(self, flat: Tensor, flags: list[float]) -> None:
        parts = torch.split(flat, [parameter.numel() for parameter in self.parameters])
        for parameter, part, flag in zip(self.parameters, parts, flags, strict=True):
            parameter.grad = part.to(parameter.dtype).view_as(parameter) if flag else None
        self.optimizer.step()
        self.num_updates += 1

    def age(self, rank: int) -> int:
        """Return how many steps the rank furthest behind lacks in what a rank would read now."""
        return self.clocks[rank] - min(self.clocks)

    def may_read(self, rank: int) -> bool:
        """Say whether a rank may read parameters for its next step."""
        return self.age(rank) <= self.bound

    def answer(self, rank: int) -> Header:
        """Return what a rank is told beside the parameters."""
        if self.bound == 0:
            loss, seeds, vote = self.totals
        else:
            loss, seeds, vote = math.nan if self._broken else 0.0, 0.0, float(self.clocks[rank] == self.save_at)
        return {"op": "parameters", "age": self.age(rank), "loss": loss, "seeds": seeds, "vote": vote}

    def flat(self) -> Tensor:
        """Return all parameters in one row."""
        dtype = flat_dtype(self.parameters)
        return torch.cat([p.detach().reshape(-1).to(dtype) for p in self.parameters] or [torch.zeros(0)])

    def save(self) -> bytes:
        """Return the optimiser's state as torch.save writes it."""
        buffer = io.BytesIO()
        torch.save(self.optimizer.state_dict(), buffer)
        return buffer.getvalue()

    def load(self, payload: bytes, step: int) -> None:
        """Continue from a checkpoint: parameters, optimiser, and all ranks at one step."""
        state = torch.load(io.BytesIO(payload), weights_only=True)
        with torch.no_grad():
            for parameter, value in zip(self.parameters, state["parameters"], strict=True):
                parameter.copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.clocks, self.save_at, self._waiting = [step] * len(self.clocks), 0, {}


def flat_dtype(parameters: Sequence[Tensor]) -> torch.dtype:
    """Return a precision that holds all parameters."""
    dtype = torch.float32
    for parameter in parameters:
        dtype = torch.promote_types(dtype, parameter.dtype)
    return dtype


class Server:
    """Serves every rank on a thread of its own; one lock guards the state."""

    def __init__(self, state: ServerState, token: str, max_payload: int) -> None:
        self._state, self._token, self._max_payload = state, token, max_payload
        self._changed = threading.Condition()
        self._left: dict[int, str] = {}  # ranks that are gone, and how

    def accept(self, listener: socket.socket) -> None:
        """Take connections for ever."""
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        rank, how = -1, "closed its connection"
        try:
            sock.settimeout(30.0)
            header, _ = read_frame(sock.recv, 0)
            if not hmac.compare_digest(str(header.get("token")), self._token):
                return
            rank = int(header["rank"])
            sock.sendall(pack({"op": "welcome"}))
            sock.settimeout(None)
            while True:
                header, payload = read_frame(sock.recv, self._max_payload)
                self._obey(sock, rank, header, payload)
        except (OSError, EOFError):
            pass
        except Exception as error:  # of one rank's frame or of the optimiser: it is told, and the others go on
            how = f"{type(error).__name__}: {error}"
            if rank >= 0:  # a stranger hears nothing
                _tell_gone(sock, f"the parameter server could not do what rank {rank} asked for: {how}")
        finally:
            sock.close()
            if rank >= 0:
                with self._changed:
                    self._left[rank] = how
                    self._changed.notify_all()

    def _obey(self, sock: socket.socket, rank: int, header: Header, payload: bytearray) -> None:
        state, op = self._state, header["op"]
        with self._changed:
            if op == "step":
                flat = torch.frombuffer(payload, dtype=flat_dtype(state.parameters)) if payload else torch.zeros(0)
                state.push(rank, header["step"], flat, header["flags"], header["told"])
                self._changed.notify_all()
            elif op == "load":
                state.load(bytes(payload), header["step"])
        if op == "step" and not self._wait(sock, rank):
            return
        with self._changed:
            found = state.answer(rank)
            body = state.save() if op == "save" else b"" if op == "load" else bytes(as_bytes(state.flat()))
        sock.sendall(pack(found, body))
        sock.sendall(body)

    def _wait(self, sock: socket.socket, rank: int) -> bool:
        """Wait until a rank may read, with a sign of life meanwhile; say no where it waits for one that is gone."""
        while True:
            with self._changed:
                if self._left:  # nobody leaves before all have pushed their last step
                    gone, how = next(iter(self._left.items()))
                    break
                if self._state.may_read(rank):
                    return True
                self._changed.wait(ALIVE_S)
            sock.sendall(pack({"op": "alive"}))
        _tell_gone(sock, f"rank {gone} {how}")
        return False


def _tell_gone(sock: socket.socket, text: str) -> None:
    with contextlib.suppress(OSError):
        sock.sendall(pack({"op": "gone", "text": text}))


def make_state(job: Header, payload: bytearray) -> ServerState:
    """Return the state that the first frame describes: shapes, precision, optimiser, and the first parameters."""
    parameters = [
        torch.zeros(shape, dtype=getattr(torch, dtype)).requires_grad_()
        for shape, dtype in zip(job["shapes"], job["dtypes"], strict=True)
    ]
    kind = getattr(torch.optim, job["optimizer"])
    taken = inspect.signature(kind).parameters
    options = {name: value for name, value in job["options"].items() if name in taken}
    state = ServerState(parameters, kind(parameters, **options), job["world_size"], job["bound"])
    flat = torch.frombuffer(payload, dtype=flat_dtype(parameters)) if payload else torch.zeros(0)
    with torch.no_grad():
        for parameter, part in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.copy_(part.view_as(parameter))
    return state


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Serve until `source` ends; the first line written to `sink` is the port."""
    job, payload = read_frame(source.read, 1 << 62)
    torch.set_num_threads(1)
    state = make_state(job, payload)
    listener = socket.create_server((job["host"], 0), backlog=len(state.clocks))
    server = Server(state, job["token"], max_payload=4 * len(payload) + (64 << 20))
    threading.Thread(target=server.accept, args=(listener,), daemon=True).start()
    sink.write(f"{listener.getsockname()[1]}\n".encode())
    sink.flush()
    while source.read(1 << 16):
        pass
    os._exit(0)  # rank 0 has finished, or is gone: threads may wait for ranks that are gone too


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
