"""The process of the parameter server: who waits, who is served, and that what is gone shows within seconds."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from workbench.runtime.rank import classify
from workbench.train import server_link
from workbench.train.server_link import ServerLink, ServerLost, ServerProcess
from workbench.train.server_main import as_bytes, pack


def server(world_size: int, bound: int) -> tuple[ServerProcess, list[ServerLink]]:
    parameter = torch.zeros(2, dtype=torch.float64)
    process = ServerProcess([parameter], torch.optim.SGD([parameter], lr=1.0), world_size, bound, "127.0.0.1")
    links = [
        ServerLink(process.address, process.token, rank, process if rank == 0 else None) for rank in range(world_size)
    ]
    return process, links


def ask(link: ServerLink, step: int, value: float = 1.0) -> dict[str, Any]:
    payload = as_bytes(torch.full((2,), value, dtype=torch.float64))
    return link.ask({"op": "step", "step": step, "flags": [1.0], "told": [value, 1.0, 0.0]}, payload)[0]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_fast_rank_waits_for_the_slow_one() -> None:
    process, links = server(2, bound=1)
    try:
        order: list[str] = []

        def fast() -> None:
            for step in (1, 2, 3):
                ask(links[0], step)
                order.append(f"fast {step}")

        thread = threading.Thread(target=fast)
        thread.start()
        time.sleep(1.5)  # longer than the interval of the signs of life
        assert order == ["fast 1"]
        for step in (1, 2):
            ask(links[1], step)
        thread.join(20)
        assert order == ["fast 1", "fast 2", "fast 3"]
    finally:
        for link in reversed(links):
            link.close()
    assert not is_there(process.pid)


def test_ages_over_the_wire_stay_within_the_bound_on_random_schedules() -> None:
    process, links = server(3, bound=2)
    found: list[int] = []

    def work(rank: int) -> None:
        chance = random.Random(rank)
        for step in range(1, 40):
            time.sleep(chance.random() * 0.01 * rank)
            found.append(ask(links[rank], step)["age"])

    try:
        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 3 * 39
        assert max(found) <= 2
        assert max(found) > 0  # ranks were apart: the bound was there to be kept
    finally:
        for link in reversed(links):
            link.close()
    assert not is_there(process.pid)


def test_a_dead_server_shows_within_seconds_and_says_how_it_ended() -> None:
    process, links = server(2, bound=0)
    errors: list[str] = []
    kinds: list[str] = []

    def wait() -> None:
        try:
            ask(links[0], 1)
        except ServerLost as error:
            errors.append(str(error))
            kinds.append(classify(error, 2))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.5)
    begin = time.monotonic()
    os.kill(process.pid, signal.SIGKILL)
    thread.join(10)
    assert time.monotonic() - begin < 5
    assert kinds == ["peer"]  # the run goes on from its last checkpoint
    assert "has ended" in errors[0]
    assert "signal 9" in errors[0]
    with pytest.raises(ServerLost, match="has ended"):
        ask(links[1], 1)
    for link in reversed(links):
        link.close()


def test_a_dead_rank_shows_within_seconds_at_the_others() -> None:
    process, links = server(3, bound=1)
    errors: list[str] = []

    def wait() -> None:
        try:
            ask(links[0], 1)
            ask(links[0], 2)
        except ServerLost as error:
            errors.append(str(error))

    try:
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.5)
        begin = time.monotonic()
        links[2].close()  # what the kernel does for a process that is killed
        thread.join(10)
        assert time.monotonic() - begin < 5
        assert "rank 2 closed its connection" in errors[0]
        with pytest.raises(ServerLost, match="rank 2"):
            ask(links[1], 1)
    finally:
        for link in reversed(links[:2]):
            link.close()
    assert not is_there(process.pid)


def test_a_server_that_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_link, "PATIENCE_S", 2.0)
    process, links = server(1, bound=0)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerLost, match="no sign of life for 2 s"):
            ask(links[0], 1)
    finally:
        links[0].close()
    assert not is_there(process.pid)


def test_the_server_ends_with_the_rank_that_started_it(tmp_path: Path) -> None:
    """Killed without a chance to clean up, rank 0 leaves no server behind."""
    import subprocess
    import sys

    code = (
        "import torch, time\n"
        "from workbench.train.server_link import ServerProcess\n"
        "p = torch.zeros(2)\n"
        "s = ServerProcess([p], torch.optim.SGD([p], lr=1.0), 1, 0, '127.0.0.1')\n"
        "print(s.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert is_there(pid)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 10
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_there(pid)


def hears_nothing(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_stranger_is_not_served() -> None:
    process, links = server(1, bound=0)
    try:
        with pytest.raises(ServerLost, match="no connection"):
            ServerLink(process.address, "wrong", 0)
        host, _, port = process.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(b"\xff" * 64)
            assert hears_nothing(sock)
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(pack({"op": "step"}))
            assert hears_nothing(sock)
        assert ask(links[0], 1)["loss"] == 1.0  # and the others are served as before
    finally:
        links[0].close()


def test_a_server_that_cannot_start_says_so() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    with pytest.raises(ServerLost, match=r"did not start.*process \d+ ended"):
        ServerProcess([parameter], torch.optim.SGD([parameter], lr=1.0), 1, 0, "203.0.113.7")
