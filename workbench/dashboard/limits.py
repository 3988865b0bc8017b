"""What limits a run: a few facts of its last steps, turned into a sentence, a reason and an advice."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.core.units import format_seconds
from workbench.dashboard.panels.phases import WORTH_TELLING
from workbench.dashboard.words import listed, milliseconds, percent

SHARE = 0.15  # of a step, or of the time: what is less does not limit it
MIN_STEPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFacts:
    """Mean seconds of a rank's last steps; ``supply_s`` is the making of one batch, wherever that is done."""

    rank: int
    part: int | None = None
    num_edges: float = 0.0
    step_s: float = 0.0
    wait_for_batch_s: float = 0.0
    wait_for_rank_s: float = 0.0
    compute_s: float = 0.0
    exchange_s: float = 0.0
    supply_s: float | None = None
    sample_s: float = 0.0
    gather_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the last steps: ``waiting`` in words, ``evaluate_s`` seconds of one exact inference."""

    ranks: tuple[RankFacts, ...] = ()
    num_steps: int = 0
    num_samplers: int = 0
    waiting: str = "hardly any waiting"
    evaluate_s: float = 0.0
    evaluate_every: int = 1
    steps_per_epoch: int = 0

    @property
    def train_s(self) -> float:
        """Return the seconds of steps from one exact inference to the next, at the pace of the last steps."""
        return self.evaluate_every * self.steps_per_epoch * max((r.step_s for r in self.ranks), default=0.0)

    @property
    def evaluate_share(self) -> float:
        """Return the part of the time spent in exact inference; 0 where that happens only at the end."""
        return self.evaluate_s / (self.evaluate_s + self.train_s) if self.train_s > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What, where and why, what to do; ``heads`` are the titles, ``cost`` the share of the run's time that it takes."""

    tone: str
    what: str
    where: str
    advice: str
    details: dict[str, str] = field(default_factory=dict)
    heads: tuple[str, str, str] = ("What limits the run", "Where and why", "What to do")
    cost: float = 0.0


def find_limit(facts: Facts) -> Verdict:
    """Return the verdict on a running run: the dearest of a late rank, slow batches, communication and evaluation."""
    if facts.num_steps < MIN_STEPS or not facts.ranks or facts.ranks[0].step_s <= 0:
        return Verdict(
            tone="",
            what="Not known yet",
            where=f"It is measured over the last steps, from step {MIN_STEPS + 1} on.",
            advice="Nothing.",
        )
    rules = (_late_rank, _slow_batches, _communication, _evaluation)
    verdicts = [verdict for rule in rules if (verdict := rule(facts)) is not None]
    return max(verdicts, key=lambda verdict: verdict.cost, default=_arithmetic(facts))


def _cost(facts: Facts, seconds: float, rank: RankFacts) -> float:
    return seconds / rank.step_s * (1 - facts.evaluate_share)


def _late_rank(facts: Facts) -> Verdict | None:
    if len(facts.ranks) < 2:
        return None
    late = min(facts.ranks, key=lambda r: r.wait_for_rank_s)
    others = [r for r in facts.ranks if r.rank != late.rank]
    mean_wait_s = sum(r.wait_for_rank_s for r in others) / len(others)
    lag_s = mean_wait_s - late.wait_for_rank_s
    if lag_s < SHARE * late.step_s:
        return None
    names = listed([str(r.rank) for r in others])
    waiting = f"ranks {names} wait" if len(others) > 1 else f"rank {names} waits"
    what = f"Rank {late.rank} is late by {milliseconds(lag_s)} a step; {waiting} for it"
    where, advice = _why_late(facts, late, others)
    part = "" if late.part is None else f"Part {late.part}: "
    cost = _cost(facts, lag_s, late)
    return Verdict(tone="warn", what=what, where=part + where, advice=advice, cost=cost)


def _why_late(facts: Facts, late: RankFacts, others: Sequence[RankFacts]) -> tuple[str, str]:
    def mean(name: str) -> float:
        return sum(getattr(r, name) or 0.0 for r in others) / len(others)

    extra = {
        "batch": late.wait_for_batch_s - mean("wait_for_batch_s"),
        "compute": late.compute_s - mean("compute_s"),
    }
    if extra["batch"] >= extra["compute"]:
        where = f"rank {late.rank} waits {milliseconds(late.wait_for_batch_s)} a step for its batches"
        if late.supply_s is not None:
            own, rest = milliseconds(late.supply_s), milliseconds(mean("supply_s"))
            where += f". One takes {own} to make, {rest} for {'the others' if len(others) > 1 else 'the other rank'}"
        return where + ".", _more_supply(
            facts, "The worker that samples for it may be slow or shared: look at its load"
        )
    where = f"rank {late.rank} computes {milliseconds(extra['compute'])} longer a step than the others"
    edges = mean("num_edges")
    if edges and late.num_edges > 1.15 * edges:
        more = percent(late.num_edges / edges - 1)
        return (
            f"{where}: its batches have {more} more edges.",
            "Balance the parts by edges, or make its batches smaller.",
        )
    return (
        f"{where}, on batches of the same size.",
        "Its machine is slower or shared: look at its load, or give it more threads.",
    )


def _more_supply(facts: Facts, first: str) -> str:
    if facts.num_samplers == 0:
        return "Sampling shares the rank's own process: launch with samplers=1 or more."
    return f"{first}. If the wait stays, launch with samplers={facts.num_samplers + 1}, or use smaller fanouts."


def _slow_batches(facts: Facts) -> Verdict | None:
    worst = max(facts.ranks, key=lambda r: r.wait_for_batch_s)
    usual_s = statistics.median(r.wait_for_batch_s for r in facts.ranks)  # one that waits alone is a late rank
    if usual_s < SHARE * worst.step_s:
        return None
    share = percent(worst.wait_for_batch_s / worst.step_s)
    where = f"Rank {worst.rank} waits {milliseconds(worst.wait_for_batch_s)} of {milliseconds(worst.step_s)} a step."
    if worst.supply_s:
        longer = "sampling" if worst.sample_s >= worst.gather_s else "gathering features"
        where += f" A batch takes {milliseconds(worst.supply_s)} to make, mostly {longer}; a step's arithmetic "
        where += f"{milliseconds(worst.compute_s)}."
    return Verdict(
        tone="warn",
        what=f"Batches come too slowly: {share} of a step is spent waiting for them",
        where=where,
        advice=_more_supply(facts, "The samplers cannot keep up"),
        cost=_cost(facts, usual_s, worst),
    )


def _communication(facts: Facts) -> Verdict | None:
    worst = max(facts.ranks, key=lambda r: r.exchange_s)
    share = worst.exchange_s / worst.step_s
    if share < SHARE:
        return None
    return Verdict(
        tone="warn",
        what=f"Communication takes {percent(share)} of a step",
        where=f"It costs rank {worst.rank} {milliseconds(worst.exchange_s)} of {milliseconds(worst.step_s)} a step.",
        advice="A larger batch_size means fewer sums over ranks an epoch.",
        cost=_cost(facts, worst.exchange_s, worst),
    )


def _evaluation(facts: Facts) -> Verdict | None:
    if facts.evaluate_share < SHARE:
        return None
    return Verdict(
        tone="warn",
        what=f"Exact inference takes {percent(facts.evaluate_share)} of the time",
        where=f"The whole graph is evaluated after {_often(facts)}: {_evaluation_times(facts)}.",
        advice=f"Evaluate more rarely: evaluate_every={max(2, 2 * facts.evaluate_every)}.",
        cost=facts.evaluate_share,
    )


def _often(facts: Facts) -> str:
    every = facts.evaluate_every
    return "each epoch" if every == 1 else f"every {every} epochs"


def _evaluation_times(facts: Facts) -> str:
    return f"{format_seconds(facts.evaluate_s)} beside {format_seconds(facts.train_s)} of steps"


def _arithmetic(facts: Facts) -> Verdict:
    rank = max(facts.ranks, key=lambda r: r.compute_s)
    share = percent(rank.compute_s / rank.step_s)
    where = (
        f"{milliseconds(rank.compute_s)} of {milliseconds(rank.step_s)} a step on rank {rank.rank}; {facts.waiting}."
    )
    if facts.evaluate_share >= WORTH_TELLING:
        where += f" Exact inference after {_often(facts)} takes {_evaluation_times(facts)}."
    return Verdict(
        tone="done",
        what=f"The model's arithmetic: {share} of a step is forward, backward and update",
        where=where,
        advice="Nothing is wrong. More trainers, more threads or a smaller model make it faster.",
    )
