"""What is broken, when, and what must come of it: drawn from a seed, so that a fault can be broken again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

STARTING_SHARE = 0.15  # of the faults come before the first step


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of fault and what decisions the runtime owes.

    Parameters
    ----------
    name : str
    ends : str
        The status in which the run must end.
    restarts : int
        How often the gang starts again, at most (before the first step a fault may cost none).
    names_rank : bool
        Whether the event names the rank that was chosen.
    says : str
        What the cause must contain, in lower case.
    resumes : bool
        Whether the run is resumed afterwards, and must then finish like the undisturbed one.
    samplers : int
    limits : dict
        The run manager's, where the defaults would take too long here.
    """

    name: str
    ends: str = "finished"
    restarts: int = 0
    names_rank: bool = False
    says: str = ""
    resumes: bool = False
    samplers: int = 0
    limits: tuple[tuple[str, float], ...] = ()


KINDS = (
    Kind(name="trainer_killed", restarts=1, names_rank=True, says="signal 9"),
    Kind(name="worker_killed", restarts=1, names_rank=True, says="left the cluster"),
    Kind(name="sampler_killed", samplers=1),
    Kind(name="kernel_killed"),
    Kind(name="scheduler_killed", ends="failed", resumes=True),
    Kind(name="zygote_killed", restarts=1, says="signal 9"),
    Kind(name="rank_stopped", restarts=1, names_rank=True, says="sigstop"),
    Kind(name="rank_hangs", restarts=1, names_rank=True, says="stands still", limits=(("still_s", 4.0),)),
    Kind(name="rank_raises", ends="failed", names_rank=True, says="keyerror: 'mine'"),
    Kind(name="memory_once", restarts=1, names_rank=True, says="allocate memory"),
    Kind(name="memory_twice", ends="failed", restarts=1, names_rank=True, says="allocate memory"),
    Kind(name="nan_loss", ends="failed", says="loss"),
    Kind(name="disk_full", ends="failed", says="no space left", resumes=True),
)
BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault: `when` is a share of the run (below ``STARTING_SHARE`` of its start), `rank` the victim."""

    number: int
    kind: str
    when: float
    rank: int
    jitter_s: float

    def earlier(self) -> Fault:
        """Return the same fault nearer to the start: for a run that had ended before."""
        return Fault(number=self.number, kind=self.kind, when=self.when / 2, rank=self.rank, jitter_s=self.jitter_s / 2)


def plan(rng_seed: int, count: int, world_size: int) -> Iterator[Fault]:
    """Yield faults of all kinds in turn, each kind as often as any other."""
    for number in range(count):
        rng = random.Random(f"{rng_seed}/{number}")
        round_rng = random.Random(f"{rng_seed}/round {number // len(KINDS)}")
        order = round_rng.sample(range(len(KINDS)), len(KINDS))
        yield Fault(
            number=number,
            kind=KINDS[order[number % len(KINDS)]].name,
            when=rng.random(),
            rank=rng.randrange(world_size),
            jitter_s=rng.random() * 0.05,
        )
