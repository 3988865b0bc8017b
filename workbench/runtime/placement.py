"""Which workers may hold a rank now, and of which nothing is heard any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from workbench.runtime.run_records import Host, RunState

WARN_S = 4.0  # eight heartbeats of a small cluster
HEARTBEATS = 8


def free_workers(workers: Mapping[str, Any], ready: Set[str], active: list[RunState]) -> tuple[tuple[Host, ...], int]:
    """Return the workers that may hold a rank now, by name, and the number of idle samplers.

    Parameters
    ----------
    workers : mapping
        Dask's ``WorkerState`` by address.
    ready : set
        Addresses of those whose zygote can fork.
    active : list of RunState
        Runs that have not ended.
    """
    busy = {state.hosts[rank].address for state in active for rank in state.live}
    free = [
        Host(address=address, name=str(workers[address].name), host=workers[address].host)
        for address in ready - busy
        if address in workers and workers[address].resources.get("trainer")
    ]
    total = sum(int(worker.resources.get("sampler", 0)) for worker in workers.values())
    used = sum(state.num_samplers for state in active if state.live)
    return tuple(sorted(free, key=lambda host: (len(host.name), host.name))), total - used


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A worker of another machine that holds a rank and has not been heard for `seconds`."""

    rank: int
    host: Host
    seconds: float

    @property
    def text(self) -> str:
        """Return it in words."""
        where = f"worker {self.host.name} on {self.host.host}, which holds rank {self.rank},"
        return f"{where} gives no sign of life for {self.seconds:.0f} s: its machine, or the network to it, may be gone"


def quiet_workers(workers: Mapping[str, Any], state: RunState, own_host: str, now_s: float) -> Iterator[Quiet]:
    """Yield the workers of a run that are on other machines than the scheduler, and whose heartbeats stay away.

    A cut network closes no connection: Dask itself waits for minutes, and ranks for each other for a minute.
    """
    if state.status.ended or state.killed:
        return
    warn_s = max(WARN_S, HEARTBEATS * heartbeat_s(len(workers)))
    for rank in sorted(state.live):
        host = state.hosts[rank]
        worker = workers.get(host.address)
        if worker is not None and host.host != own_host and now_s - worker.last_seen > warn_s:
            yield Quiet(rank=rank, host=host, seconds=now_s - worker.last_seen)


def heartbeat_s(num_workers: int) -> float:
    """Return how often Dask lets a worker send a sign of life, in seconds."""
    for most, seconds in ((10, 0.5), (50, 1.0), (200, 2.0)):
        if num_workers <= most:
            return seconds
    return num_workers / 200 + 1
