"""The parameter server as ranks see it: rank 0 starts it, all ask it; that it is gone shows within seconds."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from workbench.train import server_main
from workbench.train.server_main import Header, as_bytes, flat_dtype, pack, read_frame

if TYPE_CHECKING:
    from torch import Tensor

START_S = 120.0  # torch is imported meanwhile
PATIENCE_S = 20.0  # without a sign of life: the server sends one every second to a rank that waits
_ADDRESS_BYTES = 512


class ServerLost(RuntimeError):
    """The parameter server is gone, or says that another rank is."""


class ServerProcess:
    """The process of the server, child of rank 0: it ends when its standard input does, so at the latest with rank 0.

    Parameters
    ----------
    parameters : list of Tensor
        As they are now.
    optimizer : torch.optim.Optimizer
        Whose kind and options the server's has.
    world_size, bound : int
    host : str
        Where it listens.
    """

    def __init__(
        self, parameters: Sequence[Tensor], optimizer: torch.optim.Optimizer, world_size: int, bound: int, host: str
    ) -> None:
        self.token = secrets.token_hex(16)
        dtype = flat_dtype(parameters)
        flat = torch.cat([p.detach().reshape(-1).to(dtype) for p in parameters] or [torch.zeros(0)])
        job = {
            "host": host,
            "token": self.token,
            "world_size": world_size,
            "bound": bound,
            "optimizer": type(optimizer).__name__,
            "options": optimizer.defaults,
            "shapes": [list(p.shape) for p in parameters],
            "dtypes": [str(p.dtype).removeprefix("torch.") for p in parameters],
        }
        self._process = subprocess.Popen(
            # -P: modules beside the script do not stand in for Python's own (there is a trace.py, for one).
            [sys.executable, "-P", str(Path(server_main.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is rank 0's business
        )
        self.pid = self._process.pid
        body = as_bytes(flat)
        try:
            assert self._process.stdin is not None, "a pipe"
            self._process.stdin.write(pack(job, body))
            self._process.stdin.write(body)
            self._process.stdin.flush()
            self.address = f"{host}:{self._port()}"
        except BaseException:
            self.close()
            raise

    def _port(self) -> int:
        assert self._process.stdout is not None, "a pipe"
        ready, _, _ = select.select([self._process.stdout], [], [], START_S)
        line = self._process.stdout.readline() if ready else b""
        if not line.strip():
            raise ServerLost(f"The parameter server did not start: no connection was offered, {self.fate()}")
        return int(line)

    def fate(self) -> str:
        """Return what has become of the process."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"process {self.pid} is there still"
        return f"process {self.pid} was ended by signal {-code}" if code < 0 else f"process {self.pid} ended ({code})"

    def close(self) -> None:
        """End the process; it is gone when this returns."""
        assert self._process.stdin is not None, "a pipe"
        assert self._process.stdout is not None, "a pipe"
        with contextlib.suppress(OSError):  # it had ended by itself
            self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class ServerLink:
    """A rank's connection to the server.

    Parameters
    ----------
    address, token : str
        Of :class:`ServerProcess`.
    rank : int
    process : ServerProcess, optional
        On the rank that started it.
    """

    def __init__(self, address: str, token: str, rank: int, process: ServerProcess | None = None) -> None:
        self._address, self._process = address, process
        host, _, port = address.rpartition(":")
        try:
            self._sock = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        except OSError as error:
            raise ServerLost(f"The parameter server: no connection to {address} ({error})") from None
        try:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sock.sendall(pack({"op": "hello", "rank": rank, "token": token}))
            read_frame(self._sock.recv, 0)
        except (OSError, EOFError) as error:
            self._sock.close()
            raise ServerLost(f"The parameter server: no connection to {address} ({error})") from None

    def ask(self, header: Header, payload: memoryview | bytes = b"") -> tuple[Header, bytearray]:
        """Send a frame and return the answer; signs of life are passed over.

        Raises
        ------
        ServerLost
            Where the server ends, is silent for `PATIENCE_S`, or says that another rank is gone.
        """
        try:
            self._sock.sendall(pack(header, payload))
            if len(payload):
                self._sock.sendall(payload)
            while True:
                answer, body = read_frame(self._sock.recv, 1 << 62)
                if answer["op"] != "alive":
                    break
        except TimeoutError:
            raise ServerLost(
                f"The parameter server gave no sign of life for {PATIENCE_S:.0f} s on the connection to {self._address}"
                f"{self._fate()}"
            ) from None
        except (OSError, EOFError, ValueError) as error:
            raise ServerLost(
                f"The parameter server has ended: the connection to {self._address} broke ({error}){self._fate()}"
            ) from None
        if answer["op"] == "gone":
            raise ServerLost(f"The parameter server has lost a connection: {answer['text']}")
        return answer, body

    def _fate(self) -> str:
        return "" if self._process is None else f"; {self._process.fate()}"

    def close(self) -> None:
        """Leave; the rank that started the server ends it."""
        self._sock.close()
        if self._process is not None:
            self._process.close()


def own_address() -> str:
    """Return where ranks of other hosts reach this one: the address of the interface that the gang talks on."""
    name = os.environ.get("GLOO_SOCKET_IFNAME", "")
    if name:
        import psutil

        for address in psutil.net_if_addrs().get(name, ()):
            if address.family == socket.AF_INET:
                return str(address.address)
    return "127.0.0.1"


def open_link(parameters: Sequence[Tensor], optimizer: torch.optim.Optimizer, bound: int, transport: Any) -> ServerLink:
    """Start the server on rank 0, let all know where it is, and return each rank's link; all ranks call it."""
    process, told, problem = None, torch.zeros(_ADDRESS_BYTES, dtype=torch.uint8), None
    if transport.rank == 0:
        try:
            process = ServerProcess(parameters, optimizer, transport.world_size, bound, own_address())
            text = f"{process.address} {process.token}".encode()
            told[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        except (ServerLost, OSError) as error:  # the others wait for the address: they are told that there is none
            problem = error
    try:
        transport.broadcast(told, kind="control")
        address, _, token = bytes(told.tolist()).rstrip(b"\0").decode().partition(" ")
        if not address:
            raise problem or ServerLost("The parameter server did not start: rank 0 has no connection to tell of")
        return ServerLink(address, token, transport.rank, process)
    except BaseException:
        if process is not None:
            process.close()
        raise
