"""Replays signals through the state machine of a run and notes what it wants done."""

from __future__ import annotations

from typing import Any

from workbench.runtime.run_records import (
    Host,
    HostsOffered,
    Instruction,
    Limits,
    Publish,
    RankExited,
    RankReported,
    RankTold,
    RunState,
    Signal,
)
from workbench.runtime.run_state import transition

HOSTS = tuple(Host(address=f"tcp://{k}", name=f"trainer{k}", host=f"10.0.0.{k}") for k in range(3))


class Replay:
    """Feeds signals and notes what comes out; time is the number of signals so far."""

    def __init__(self, world_size: int = 2, num_samplers: int = 0, **limits: Any) -> None:
        self.state = RunState(world_size=world_size, num_samplers=num_samplers, created_s=0.0, limits=Limits(**limits))
        self.time_s = 0.0
        self.out: list[Instruction] = []

    def feed(self, kind: type[Signal], /, **fields: Any) -> list[Instruction]:
        self.time_s += 1
        if "generation" in kind.__dataclass_fields__:
            fields = {"generation": self.state.generation} | fields
        self.state, out = transition(self.state, kind(time_s=self.time_s, **fields))
        self.out += out
        return list(out)

    def offer(self, *hosts: Host, num_samplers: int = 0) -> list[Instruction]:
        return self.feed(HostsOffered, hosts=hosts, num_samplers=num_samplers)

    def tell(self, rank: int, kind: str, **data: Any) -> list[Instruction]:
        return self.feed(RankTold, rank=rank, kind=kind, data=data)

    def exit(self, rank: int, code: int = 0, signal: int = 0, **fields: Any) -> list[Instruction]:
        return self.feed(RankExited, rank=rank, code=code, signal=signal, **fields)

    def report(self, rank: int, reason: str, **fields: Any) -> None:
        self.feed(RankReported, rank=rank, reason=reason, **fields)

    def run_to_step(self, step: int) -> None:
        """Start the gang, let it become ready and take steps, with a checkpoint at each even step."""
        self.offer(*HOSTS)
        for rank in range(self.state.world_size):
            self.tell(rank, "rank_ready")
        for k in range(self.state.resume_step + 1, step + 1):
            for rank in range(self.state.world_size):
                self.tell(rank, "step_finished", step=k)
            if k % 2 == 0:
                self.tell(0, "checkpoint_saved", step=k)

    @property
    def kinds(self) -> list[str]:
        return [item.kind for item in self.out if isinstance(item, Publish)]


def of(kind: type[Any], out: list[Instruction]) -> list[Any]:
    """Return the instructions of a kind."""
    return [item for item in out if isinstance(item, kind)]
