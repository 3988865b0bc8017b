"""Who may hold a rank, and which silent workers are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workbench.runtime.placement import free_workers, heartbeat_s, quiet_workers
from workbench.testing.run_replay import HOSTS, Replay


def worker(name: str, host: str, last_seen: float = 0.0, **resources: float) -> Any:
    return SimpleNamespace(name=name, host=host, last_seen=last_seen, resources=resources)


WORKERS = {
    f"tcp://{k}": worker(f"trainer{k}", f"10.0.0.{k}", last_seen=100.0 - 3 * k, trainer=1, sampler=1) for k in range(3)
}


def test_a_worker_is_free_when_it_is_ready_and_no_rank_lives_on_it() -> None:
    busy = Replay(world_size=2)
    busy.run_to_step(1)
    free, samplers = free_workers(WORKERS, set(WORKERS), [busy.state])
    assert [host.name for host in free] == ["trainer2"]
    assert samplers == 3
    assert free_workers(WORKERS, {"tcp://0"}, [])[0] == HOSTS[:1]


def test_a_silent_worker_of_another_machine_is_told_with_its_rank() -> None:
    running = Replay(world_size=3)
    running.run_to_step(1)
    quiet = list(quiet_workers(WORKERS, running.state, "10.0.0.0", 101.0))
    assert [(one.rank, one.seconds) for one in quiet] == [(2, 7.0)], "4 s are not more than 4 s"
    later = list(quiet_workers(WORKERS, running.state, "10.0.0.0", 120.0))
    assert [one.rank for one in later] == [1, 2], "rank 0 is on the scheduler's own machine"
    for part in ("trainer2 on 10.0.0.2", "rank 2", "26 s"):
        assert part in later[1].text
    assert list(quiet_workers(WORKERS, Replay().state, "10.0.0.0", 120.0)) == []


def test_many_workers_send_signs_of_life_less_often() -> None:
    assert [heartbeat_s(n) for n in (1, 10, 11, 100, 400)] == [0.5, 0.5, 1.0, 2.0, 3.0]
