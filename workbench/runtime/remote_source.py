"""The trainer's end of the ring: a ``BatchSource`` that samplers fill.

Whoever makes a batch, its bits are the same, so that a lost sampler's requests are given to another, and where no sampler answers
for long the rank makes its batches itself.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, final

from workbench.core.errors import RunError
from workbench.gather import Batch, BatchMaker, BatchPlan, BatchRequest
from workbench.runtime import frames
from workbench.runtime.rank_link import RankLink
from workbench.runtime.request_board import RequestBoard
from workbench.runtime.ring import Slot, host_identity

log = logging.getLogger(__name__)
SLOTS_PER_SAMPLER = 3
DEPTH = 2  # requests that a sampler holds: it never waits for the next while it makes one
ALONE_S = 15.0
HUNG_S = 60.0


class _Connection:
    """One sampler that serves this rank."""

    def __init__(self, sock: socket.socket, hello: frames.Message, num_slots: int) -> None:
        self.sock, self.hello = sock, hello
        self.is_local: bool = hello["is_local"]
        self.num_given = 0
        self.seen: list[int] = [0] * num_slots  # version of each slot that the sampler has

    @property
    def sampler(self) -> int:
        return int(self.hello["sampler"])


@final
class RemoteSource:
    """Batches from samplers.

    Parameters
    ----------
    plan : BatchPlan
    link : RankLink
        Tells of samplers that come and go.
    host : str
        Address at which samplers of other hosts reach this rank.
    num_samplers : int
        How many will come; there are three slots for each.
    """

    def __init__(
        self, plan: BatchPlan, link: RankLink, host: str, num_samplers: int, *, measures: bool = False
    ) -> None:
        self._plan, self._link, self._measures = plan, link, measures
        self.slots = SLOTS_PER_SAMPLER * num_samplers
        self._slots = [Slot() for _ in range(self.slots)]
        self._versions = [0] * self.slots
        self._board: RequestBoard[tuple[frames.Message, _Connection | None]] | None = None
        self._held: int | None = None
        self._connections: list[_Connection] = []
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._connected_s = time.monotonic()
        self._own_maker: BatchMaker | None = None
        self.producer = (-1, os.getpid())
        self._token = secrets.token_hex(16)
        self._listeners = self._listen(host)

    def _listen(self, host: str) -> tuple[socket.socket, socket.socket]:
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(f"\0workbench-ring-{os.getpid()}-{secrets.token_hex(8)}")
        unix.listen(64)
        tcp = socket.create_server((host, 0))
        for listener in (unix, tcp):
            threading.Thread(target=self._accept, args=(listener,), name="workbench-ring", daemon=True).start()
        self.address = {
            "unix": unix.getsockname(),
            "tcp": list(tcp.getsockname()),
            "token": self._token,
            "host_identity": host_identity(),
        }
        return unix, tcp

    # ---- BatchSource

    @property
    def filled(self) -> int:
        """Return how many batches wait now."""
        return 0 if self._board is None else self._board.filled

    def batches(self, requests: Iterable[BatchRequest]) -> Iterator[Batch]:
        """Begin to order batches, and return them in order; a batch's arrays are valid until the next is asked for."""
        with self._changed:
            assert self._board is None, "a remote source answers one stream of requests"
            self._board = RequestBoard(iter(requests), self.slots)
            self._pump()
        return self._deliver()

    def close(self) -> None:
        """Hang up on all samplers, which ends their tasks; safe to call twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
            for sock in (*self._listeners, *(connection.sock for connection in self._connections)):
                _hang_up(sock)  # wakes the thread that waits on it; closing alone does not
            for slot in self._slots:
                slot.close()

    def _deliver(self) -> Iterator[Batch]:
        while True:
            with self._changed:
                if self._held is not None:
                    self._board.release(self._held)  # type: ignore[union-attr]
                    self._held = None
                    self._pump()
                item = self._wait()
            if item is None:
                return
            yield item

    def _wait(self) -> Batch | None:
        """Return the next batch, None after the last; called with the lock held."""
        board, since_s = self._board, time.monotonic()
        assert board is not None
        while True:
            if self._closed:
                raise RunError("the source of batches was closed while a batch was waited for")
            if board.done:
                return None
            delivered = board.deliver()
            if delivered is not None:
                return self._open(*delivered)
            self._changed.wait(1.0)
            waited_s = time.monotonic() - since_s
            if not self._connections and time.monotonic() - self._connected_s > ALONE_S:
                self._make_here(board)
            elif waited_s > HUNG_S and isinstance(holder := board.holder(), _Connection):
                _hang_up(holder.sock)  # its thread then takes its requests back
                since_s = time.monotonic()

    def _open(self, slot: int, answer: tuple[frames.Message, _Connection | None]) -> Batch:
        message, connection = answer
        self._held = slot
        if "error" in message:
            raise RunError(f"a sampler could not make a batch:\n{message['error']}")
        self.producer = (-1, os.getpid())
        if connection is not None:
            self.producer = (connection.sampler, connection.hello["pid"])
        return Batch.from_arrays(self._slots[slot].read(message["layout"], message["num_bytes"]))

    def _make_here(self, board: RequestBoard[Any]) -> None:
        """Make the batch that is wanted next in this process: there is no sampler."""
        if self._own_maker is None:
            text = f"no sampler serves this rank for {ALONE_S:.0f} s: it makes its batches itself"
            self._link.emit("log_written", level="warning", text=text)
            self._own_maker = BatchMaker(self._plan)
        given = board.give(self)
        if given is None:
            return
        number, slot, request = given
        layout, num_bytes = self._slots[slot].write(self._own_maker.answer(request).to_arrays())
        board.answer(number, self, ({"layout": layout, "num_bytes": num_bytes}, None))

    # ---- samplers

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), name="workbench-ring", daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            hello, _ = frames.recv(sock)
            if not secrets.compare_digest(str(hello.get("token")), self._token):
                sock.close()
                return
            connection = self._welcome(sock, hello)
        except (OSError, EOFError):
            sock.close()
            return
        cause = "its connection ended"
        try:
            while True:
                message, _ = frames.recv(sock)
                self._hear(connection, message)
        except (OSError, EOFError) as error:
            cause = f"its connection ended: {error}"
        finally:
            self._lose(connection, cause)
            sock.close()

    def _welcome(self, sock: socket.socket, hello: frames.Message) -> _Connection:
        with self._changed:
            connection = _Connection(sock, hello, self.slots)
            fds = [slot.fd for slot in self._slots] if connection.is_local else []
            connection.seen = list(self._versions)
            frames.send(sock, {"plan": self._plan.to_json()}, fds)
            self._connections.append(connection)
            fields = {key: hello[key] for key in ("sampler", "worker", "pid")}
            self._link.emit("sampler_started", **fields)
            self._pump()
        return connection

    def _pump(self) -> None:
        """Give requests to samplers, those with the fewest first, while slots are free; called with the lock held."""
        while self._board is not None and not self._closed:
            ready = [connection for connection in self._connections if connection.num_given < DEPTH]
            if not ready:
                return
            connection = min(ready, key=lambda one: one.num_given)
            given = self._board.give(connection)
            if given is None:
                self._changed.notify_all()  # the requests may have come to their end
                return
            connection.num_given += 1
            self._ask(connection, *given)

    def _ask(self, connection: _Connection, number: int, slot: int, request: BatchRequest) -> None:
        fds = []
        if connection.is_local and connection.seen[slot] != self._versions[slot]:
            fds, connection.seen[slot] = [self._slots[slot].fd], self._versions[slot]
        message = {"number": number, "slot": slot, "request": dataclasses.asdict(request)}
        try:
            frames.send(connection.sock, message, fds)
        except OSError:
            _hang_up(connection.sock)

    def _hear(self, connection: _Connection, message: frames.Message) -> None:
        if not connection.is_local and "error" not in message:
            self._receive(connection, message)
        with self._changed:
            connection.num_given -= 1
            assert self._board is not None
            self._board.answer(message["number"], connection, (message, connection))
            if self._measures and "rss_bytes" in message:
                self._tell_resources(connection, message)
            self._pump()
            self._changed.notify_all()

    def _receive(self, connection: _Connection, message: frames.Message) -> None:
        """Read a batch that another host's sampler sends after its answer, into its slot."""
        assert self._board is not None
        slot = self._board.slot_of(message["number"])
        room = self._slots[slot].room(message["num_bytes"])
        import numpy as np

        for _, dtype, shape, offset in message["layout"]:
            count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            frames.recv_into(connection.sock, memoryview(room)[offset : offset + count])

    def _tell_resources(self, connection: _Connection, message: frames.Message) -> None:
        self._link.emit(
            "resources_measured",
            role="sampler",
            index=connection.sampler,
            worker=connection.hello["worker"],
            rss_bytes=message["rss_bytes"],
            limit_bytes=None,
            cpu_percent=message["cpu_percent"],
        )

    def _lose(self, connection: _Connection, cause: str) -> None:
        with self._changed:
            self._connections.remove(connection)
            self._connected_s = time.monotonic()
            if self._closed:
                return
            slots = [] if self._board is None else self._board.lose(connection)
            for slot in slots:
                # A sampler that only seems dead might still write: it keeps the old memory for itself.
                self._slots[slot].close()
                self._slots[slot] = Slot()
                self._versions[slot] += 1
            self._link.emit("sampler_lost", sampler=connection.sampler, reissued=len(slots), cause=cause)
            self._pump()
            self._changed.notify_all()


def _hang_up(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        sock.close()
