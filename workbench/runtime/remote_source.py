"""The trainer's end of the ring: a ``BatchSource`` that samplers fill.

Whoever makes a batch, its bits are the same, so that a lost sampler's requests are given to another, and where no
sampler answers for long the rank makes its batches itself.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, final

from workbench.core.errors import RunError
from workbench.gather import Batch, BatchMaker, BatchPlan, BatchRequest
from workbench.runtime import frames
from workbench.runtime.rank_link import RankLink
from workbench.runtime.request_board import RequestBoard
from workbench.runtime.ring import Slot
from workbench.runtime.ring_server import Connection, RingServer, hang_up

log = logging.getLogger(__name__)
SLOTS_PER_SAMPLER = 3
MAX_SLOTS = 128  # as many descriptors fit into one message
DEPTH = 2  # requests that a sampler holds: it never waits for the next while it makes one
ALONE_S = 15.0
HUNG_S = 60.0


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
    measures : bool
        Whether this rank tells the samplers' memory and load: one rank of a gang does.
    """

    def __init__(
        self, plan: BatchPlan, link: RankLink, host: str, num_samplers: int, *, measures: bool = False
    ) -> None:
        self._plan, self._link, self._measures = plan, link, measures
        self.slots = min(MAX_SLOTS, SLOTS_PER_SAMPLER * num_samplers)
        self._slots = [Slot() for _ in range(self.slots)]
        self._versions = [0] * self.slots
        self._board: RequestBoard[tuple[frames.Message, Connection | None]] | None = None
        self._held: int | None = None
        self._connections: list[Connection] = []
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._alone_since_s = time.monotonic()
        self._own_maker: BatchMaker | None = None
        self.producer = (-1, os.getpid())
        self._server = RingServer(host, self._serve)
        self.address = self._server.address
        self._server.start()

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
            self._server.close()
            for connection in self._connections:
                hang_up(connection.sock)
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
            if not self._connections and time.monotonic() - self._alone_since_s > ALONE_S:
                self._make_here(board)
            elif waited_s > HUNG_S and isinstance(holder := board.holder(), Connection):
                hang_up(holder.sock)  # its thread then takes its requests back
                since_s = time.monotonic()

    def _open(self, slot: int, answer: tuple[frames.Message, Connection | None]) -> Batch:
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

    def _serve(self, connection: Connection) -> None:
        cause = "its connection ended"
        try:
            self._welcome(connection)
            while True:
                message, _ = frames.recv(connection.sock)
                self._hear(connection, message)
        except EOFError:
            pass
        except OSError as error:
            cause = f"its connection ended: {error}"
        finally:
            self._lose(connection, cause)

    def _welcome(self, connection: Connection) -> None:
        with self._changed:
            self._connections.append(connection)
            connection.versions = list(self._versions)
            fds = [slot.fd for slot in self._slots] if connection.is_local else []
            frames.send(connection.sock, {"plan": self._plan.to_json()}, fds)
            fields = {key: connection.hello[key] for key in ("sampler", "worker", "pid")}
            self._link.emit("sampler_started", **fields)
            self._pump()

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

    def _ask(self, connection: Connection, number: int, slot: int, request: BatchRequest) -> None:
        fds = []
        if connection.is_local and connection.versions[slot] != self._versions[slot]:
            fds, connection.versions[slot] = [self._slots[slot].fd], self._versions[slot]
        connection.ask({"number": number, "slot": slot, "request": dataclasses.asdict(request)}, fds)

    def _hear(self, connection: Connection, message: frames.Message) -> None:
        board = self._board
        assert board is not None, "an answer comes after a request"
        if not connection.is_local and "error" not in message:
            slot = self._slots[board.slot_of(message["number"])]
            connection.receive(message["layout"], slot.room(message["num_bytes"]))
        with self._changed:
            connection.num_given -= 1
            board.answer(message["number"], connection, (message, connection))
            if self._measures and "rss_bytes" in message:
                self._tell_resources(connection, message)
            self._pump()
            self._changed.notify_all()

    def _tell_resources(self, connection: Connection, message: frames.Message) -> None:
        self._link.emit(
            "resources_measured",
            role="sampler",
            index=connection.sampler,
            worker=connection.hello["worker"],
            rss_bytes=message["rss_bytes"],
            limit_bytes=None,
            cpu_percent=message["cpu_percent"],
        )

    def _lose(self, connection: Connection, cause: str) -> None:
        with self._changed:
            self._connections.remove(connection)
            self._alone_since_s = time.monotonic()
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
