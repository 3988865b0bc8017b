"""Two network namespaces joined by a link of a chosen delay and rate, for measuring what communication costs.

Each namespace has a TUN device; threads here carry packets from one to the other as such a link would: one after
another at the rate, and each the delay later. Nothing of the kernel is needed beside TUN and namespaces (netem often is
not there). The packets are large (60,000 bytes), so that carrying them costs little of the CPU. Linux, root.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import os
import struct
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_MTU = 60_000


class NoNamespaces(OSError):
    """This machine does not let us make network namespaces or TUN devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Namespaces, interfaces and addresses of both ends, and the bytes that went each way."""

    names: tuple[str, str]
    interfaces: tuple[str, str]
    hosts: tuple[str, str]
    carried_bytes: list[int]


@contextmanager
def slow_link(delay_s: float, bits_per_s: float) -> Iterator[Link]:
    """Give two namespaces joined by a link; they are gone at the end.

    Parameters
    ----------
    delay_s : float
        Seconds that a packet travels, each way.
    bits_per_s : float
        Rate, each way.
    """
    mark = uuid.uuid4().hex[:5]
    names, interfaces = (f"wbl{mark}a", f"wbl{mark}b"), (f"wbl{mark}i", f"wbl{mark}j")
    hosts, files, made = ("10.178.0.1", "10.178.0.2"), [], []
    stop = threading.Event()
    carried = [0, 0]
    threads: list[threading.Thread] = []
    try:
        for name, interface, host in zip(names, interfaces, hosts, strict=True):
            _ip("netns", "add", name)
            made.append(name)
            files.append(_tun(interface))
            _ip("link", "set", interface, "netns", name)
            _ip("-n", name, "addr", "add", f"{host}/24", "dev", interface)
            _ip("-n", name, "link", "set", interface, "mtu", str(_MTU), "up")
            _ip("-n", name, "link", "set", "lo", "up")
        for way, (source, target) in enumerate((files, files[::-1])):
            carrier = _Carrier(source, target, delay_s, bits_per_s, stop, carried, way)
            threads += [threading.Thread(target=work, daemon=True) for work in (carrier.take, carrier.bring)]
        for thread in threads:
            thread.start()
        yield Link(names=names, interfaces=interfaces, hosts=hosts, carried_bytes=carried)
    finally:
        stop.set()
        for thread in threads:
            thread.join(2)
        for file in files:
            os.close(file)
        for name in made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class _Carrier:
    """Carries packets one way: `take` notes when each is due, `bring` hands it over then."""

    def __init__(
        self,
        source: int,
        target: int,
        delay_s: float,
        bits_per_s: float,
        stop: threading.Event,
        carried: list[int],
        way: int,
    ) -> None:
        self._source, self._target, self._delay_s, self._bits_per_s = source, target, delay_s, bits_per_s
        self._stop, self._carried, self._way = stop, carried, way
        self._due: list[tuple[float, int, bytes]] = []
        self._order = itertools.count()
        self._has_due = threading.Condition()

    def take(self) -> None:
        free_s = 0.0
        while not self._stop.is_set():
            try:
                packet = os.read(self._source, 65_536)
            except BlockingIOError:
                self._stop.wait(0.0002)
                continue
            now = time.monotonic()
            free_s = max(now, free_s) + 8 * len(packet) / self._bits_per_s  # sent, bit by bit, after those before it
            self._carried[self._way] += len(packet)
            with self._has_due:
                heapq.heappush(self._due, (free_s + self._delay_s, next(self._order), packet))
                self._has_due.notify()

    def bring(self) -> None:
        while not self._stop.is_set():
            with self._has_due:
                if not self._due:
                    self._has_due.wait(0.1)
                    continue
                due_s = self._due[0][0]
                packet = heapq.heappop(self._due)[2] if due_s <= time.monotonic() else None
            if packet is None:
                time.sleep(max(0.0, due_s - time.monotonic()))
            else:
                os.write(self._target, packet)


def _tun(interface: str) -> int:
    try:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH", interface.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError as error:
        raise NoNamespaces(f"/dev/net/tun: {error}") from error
    return file


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaces(f"ip {' '.join(words)}: {done.stderr.strip()}")
