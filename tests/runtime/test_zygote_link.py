"""A kill of a rank whose fork is not told yet is kept and carried out."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from workbench.runtime import frames, zygote_link
from workbench.runtime.rank_host import RankHost
from workbench.runtime.zygote_link import ZygoteLink


class Zygote:
    """The other end of a link: answers what a test tells it to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kills: list[tuple[int, int]] = []
        self.exits: list[tuple[str, int, int]] = []
        monkeypatch.setattr(zygote_link.os, "kill", lambda pid, number: self.kills.append((pid, number)))
        self.link = ZygoteLink("test", lambda *fields: self.exits.append(fields))

    async def serve(self) -> None:
        mine, self.sock = socket.socketpair()
        self.link._sock = mine
        self.link._reader, self.link._writer = await asyncio.open_unix_connection(sock=mine.dup())
        self.listening = asyncio.ensure_future(self.link.listen())

    def fork(self) -> None:
        control, theirs = socket.socketpair()
        with control, theirs:
            self.link.fork("r/0/0", "/dev/null", {}, theirs)

    async def end(self) -> None:
        self.sock.close()
        await self.listening


def test_a_kill_before_the_fork_is_told_is_carried_out_then(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> Zygote:
        zygote = Zygote(monkeypatch)
        await zygote.serve()
        zygote.fork()
        zygote.link.kill("r/0/0", signal.SIGKILL)
        assert not zygote.kills
        frames.send(zygote.sock, {"op": "forked", "key": "r/0/0", "pid": 4711})
        frames.send(zygote.sock, {"op": "exited", "key": "r/0/0", "pid": 4711, "code": 0, "signal": 9})
        await zygote.end()
        return zygote

    zygote = asyncio.run(play())
    assert zygote.kills == [(4711, 9)]
    assert zygote.exits == [("r/0/0", 0, 9)]


def test_a_zygote_that_ends_before_it_tells_the_fork_has_lost_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> Zygote:
        zygote = Zygote(monkeypatch)
        await zygote.serve()
        zygote.fork()
        await zygote.end()
        return zygote

    assert asyncio.run(play()).exits == [("r/0/0", 0, 9)]


def test_a_rank_that_is_killed_while_it_waits_for_the_zygote_is_not_forked(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    async def play() -> None:
        host = RankHost()
        host._ranks, host._tasks, host._linked = {}, set(), asyncio.Event()
        host._tell = lambda op, **fields: told.append({"op": op, **fields})  # type: ignore[method-assign]
        host._on_start({"run_id": "r", "generation": 0, "rank": 0, "folder": str(tmp_path)})
        host._on_kill("r", 0, 0)
        host._linked.set()
        await asyncio.gather(*host._tasks)

    asyncio.run(play())
    assert [(message["op"], message["signal"]) for message in told] == [("workbench_rank_exited", 9)]
