"""What limits the run, or what happened to it: in three sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.phases import Phase
from workbench.core.units import format_bytes, format_seconds
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.limits import Facts, RankFacts, Verdict, find_limit
from workbench.dashboard.panels import phases
from workbench.dashboard.panels.metrics import in_text, is_better
from workbench.dashboard.panels.progress import STATUS
from workbench.dashboard.steps import STEP_COMPLETED, StepRecord
from workbench.dashboard.words import clipped, counted, mean, recent

TRACEBACK_CHARACTERS = 4000
LOG_CHARACTERS = 2000
CLOSE_TO_LIMIT = 0.9
HAPPENED = ("What happened", "Where and why", "What to do")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictState:
    status: str = "pending"
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    phases: phases.PhasesState = phases.INITIAL
    edges: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    workers: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    memory: Mapping[int, tuple[int, int | None]] = field(default_factory=lambda: MappingProxyType({}))
    world_size: int = 0
    num_ready: int = 0
    step: int = 0
    elapsed_s: float = 0.0
    evaluate_s: tuple[float, ...] = ()
    steps_per_epoch: int = 0
    best: tuple[str, float, int] | None = None
    lower_is_better: tuple[str, ...] = ()
    failure: Event | None = None
    failed_step: int = 0
    failed_memory: tuple[int, int | None] = (0, None)
    restart: Event | None = None
    cause: str = ""


@PANELS.register("verdict")
@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPanel(Panel[VerdictState]):
    """The one thing to know: what limits the run, or what went wrong, where, and what to do."""

    kinds: ClassVar[frozenset[str]] = (
        frozenset(STATUS) | phases.KINDS | {"train_started", "epoch_finished", "rank_failed", "resources_measured"}
    )

    def initial(self) -> VerdictState:
        return VerdictState()

    def reduce(self, state: VerdictState, event: Event) -> VerdictState:
        if event.kind in STATUS:
            state = dataclasses.replace(state, status=STATUS[event.kind])
        if event.kind in phases.KINDS:
            state = dataclasses.replace(state, phases=phases.reduce_phases(state.phases, event))
        handler = _HANDLERS.get(event.kind)
        return state if handler is None else handler(state, event)

    def view(self, state: VerdictState) -> Mapping[str, Any]:
        verdict = _verdict(state)
        names = ("tone", "what", "where", "advice", "details")
        shown = {name: getattr(verdict, name) for name in names}
        return {**shown, "heads": list(verdict.heads), "line": clipped(verdict.what, 100)}


def _created(state: VerdictState, event: Event) -> VerdictState:
    config = event.data["config"]
    return dataclasses.replace(state, config=config, world_size=config["trainers"])


def _gang_starting(state: VerdictState, event: Event) -> VerdictState:
    workers = {worker["rank"]: str(worker["worker"]) for worker in event.data["workers"]}
    return dataclasses.replace(
        state,
        workers=MappingProxyType(workers),
        world_size=len(workers),
        num_ready=0,
        edges=MappingProxyType({}),
        memory=MappingProxyType({}),
    )


def _train_started(state: VerdictState, event: Event) -> VerdictState:
    lower = tuple(event.data.get("lower_is_better", ()))
    return dataclasses.replace(state, steps_per_epoch=event.data["steps_per_epoch"], lower_is_better=lower)


def _rank_ready(state: VerdictState, event: Event) -> VerdictState:
    return dataclasses.replace(state, num_ready=state.num_ready + 1)


def _step_completed(state: VerdictState, event: Event) -> VerdictState:
    record: StepRecord = event.data["record"]
    edges = {r.rank: recent(state.edges.get(r.rank, ()), r.num_edges) for r in record.ranks}
    return dataclasses.replace(state, step=record.step, edges=MappingProxyType(edges), failure=None)


def _epoch_finished(state: VerdictState, event: Event) -> VerdictState:
    data, best = event.data, state.best
    name = next((name for name in data["metrics"] if name.startswith("val_")), next(iter(data["metrics"]), None))
    if name is not None and (best is None or is_better(name, data["metrics"][name], best[1], state.lower_is_better)):
        best = (name, data["metrics"][name], data["epoch"])
    told = recent(state.evaluate_s, data["evaluate_s"], 5) if data["evaluate_s"] else state.evaluate_s
    return dataclasses.replace(state, best=best, evaluate_s=told, elapsed_s=data["elapsed_s"])


def _resources(state: VerdictState, event: Event) -> VerdictState:
    data = event.data
    if data["role"] != "trainer":
        return state
    measured = (data["rss_bytes"], data["limit_bytes"])
    return dataclasses.replace(state, memory=MappingProxyType({**state.memory, data["index"]: measured}))


def _rank_failed(state: VerdictState, event: Event) -> VerdictState:
    memory = state.memory.get(event.rank, (0, None))
    return dataclasses.replace(state, failure=event, failed_step=state.step + 1, failed_memory=memory)


def _restarting(state: VerdictState, event: Event) -> VerdictState:
    return dataclasses.replace(state, restart=event, step=event.data["from_step"])


def _run_failed(state: VerdictState, event: Event) -> VerdictState:
    return dataclasses.replace(state, cause=event.data["cause"])


def _finished(state: VerdictState, event: Event) -> VerdictState:
    return dataclasses.replace(state, elapsed_s=event.data["elapsed_s"], step=event.data["step"])


_HANDLERS = {
    "run_created": _created,
    "gang_starting": _gang_starting,
    "rank_ready": _rank_ready,
    "train_started": _train_started,
    STEP_COMPLETED: _step_completed,
    "epoch_finished": _epoch_finished,
    "resources_measured": _resources,
    "rank_failed": _rank_failed,
    "run_restarting": _restarting,
    "run_failed": _run_failed,
    "run_finished": _finished,
}


def _verdict(state: VerdictState) -> Verdict:
    if state.status == "failed":
        return _failed(state)
    if state.failure is not None and state.status in ("restarting", "starting", "running"):
        return _restarts(state)
    match state.status:
        case "finished" | "stopped":
            return _ended(state)
        case "pending" | "starting":
            return _starting(state)
        case "paused":
            return Verdict(
                tone="warn",
                what=f"Paused after step {state.step:,}",
                where="All ranks stand still between two steps.",
                advice="Resume when you like: nothing is lost.",
                heads=HAPPENED,
            )
    return find_limit(facts_of(state))


def facts_of(state: VerdictState) -> Facts:
    """Return the means of the last steps that a verdict rests on."""
    known = state.phases
    ranks = tuple(_rank_facts(state, rank) for rank in sorted(known.steps))
    return Facts(
        ranks=ranks,
        num_steps=known.num_steps,
        num_samplers=state.config.get("samplers", 0),
        waiting=phases.waiting_words(known),
        evaluate_s=mean(state.evaluate_s) or 0.0,
        evaluate_every=state.config.get("evaluate_every", 1),
        steps_per_epoch=state.steps_per_epoch,
    )


def _rank_facts(state: VerdictState, rank: int) -> RankFacts:
    def seconds(*names: Phase) -> float:
        return sum(state.phases.mean_s(rank, name) for name in names)

    return RankFacts(
        rank=rank,
        part=state.phases.parts.get(rank),
        num_edges=mean(state.edges.get(rank, ())) or 0.0,
        step_s=state.phases.step_s(rank),
        wait_for_batch_s=seconds(Phase.WAIT_FOR_BATCH),
        wait_for_rank_s=seconds(Phase.WAIT_FOR_RANK),
        compute_s=seconds(Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE),
        exchange_s=seconds(Phase.EXCHANGE, Phase.ALL_REDUCE),
        supply_s=state.phases.supply_s(rank),
        sample_s=seconds(Phase.SAMPLE),
        gather_s=seconds(Phase.GATHER),
    )


def _starting(state: VerdictState) -> Verdict:
    if state.status == "pending":
        where = f"It needs {counted(state.world_size, 'free worker')} that can train."
        advice = "Nothing, if another run is about to end; else connect more workers."
        return Verdict(tone="", what="Waiting for workers", where=where, advice=advice, heads=HAPPENED)
    return Verdict(
        tone="",
        what=f"Starting: {state.num_ready} of {counted(state.world_size, 'rank')} ready",
        where="Each rank is a process of its own; it opens the graph and joins the group.",
        advice="Nothing.",
        heads=HAPPENED,
    )


def _where_failed(state: VerdictState) -> str:
    """Return the place of a failure, and the memory of the rank when it was measured last."""
    failure = state.failure
    if failure is None:
        return "The run manager ended it."
    data = failure.data
    where = f"Rank {failure.rank} on {data['host']}" + ("" if data["part"] is None else f", part {data['part']}")
    rss, limit = state.failed_memory
    if limit and rss > CLOSE_TO_LIMIT * limit:
        where += f". Its memory was {format_bytes(rss)} of {format_bytes(limit)}: the limit is the likely cause"
    return where + "."


def _details(failure: Event | None) -> dict[str, str]:
    if failure is None:
        return {}
    texts = {
        "Traceback": str(failure.data["traceback"])[-TRACEBACK_CHARACTERS:].strip(),
        "Last lines of its output": str(failure.data["log_tail"])[-LOG_CHARACTERS:].strip(),
    }
    return {head: text for head, text in texts.items() if text}


def _restarts(state: VerdictState) -> Verdict:
    failure = state.failure
    assert failure is not None, "only called with a failure"
    advice = "Nothing now: a restart is being decided."
    if state.restart is not None:
        step = state.restart.data["from_step"]
        source = f"the checkpoint of step {step:,}" if step else "the beginning"
        advice = f"Nothing now: all ranks start again from {source}, attempt {state.restart.data['attempt']}."
    return Verdict(
        tone="fail",
        what=f"Rank {failure.rank} was lost near step {state.failed_step:,}: {clipped(failure.data['cause'], 160)}",
        where=_where_failed(state),
        advice=advice,
        details=_details(failure),
        heads=HAPPENED,
    )


def _failed(state: VerdictState) -> Verdict:
    cause = state.cause or "the run ended with an error"
    _, _, fix = cause.partition("Fix: ")
    advice = fix.strip() or "Read the last lines below, mend the cause and launch again."
    return Verdict(
        tone="fail",
        what=f"The run failed after step {state.step:,}: {clipped(cause.partition('Fix: ')[0], 240)}",
        where=_where_failed(state),
        advice=advice,
        details=_details(state.failure),
        heads=HAPPENED,
    )


def _ended(state: VerdictState) -> Verdict:
    is_done = state.status == "finished"
    best = ""
    if state.best is not None:
        name, value, epoch = state.best
        best = f"Best {in_text(name)} {value:.3f} at epoch {epoch}. "
    after = f" in {format_seconds(state.elapsed_s)} of training" if state.elapsed_s else ""
    limit = find_limit(facts_of(state))
    why = f"What limited it at the end: {limit.what[0].lower()}{limit.what[1:]}." if limit.tone else ""
    return Verdict(
        tone="done" if is_done else "warn",
        what=f"{'Finished' if is_done else 'Stopped'} after {counted(state.step, 'step')}{after}",
        where=(best + why) or "No epoch was finished.",
        advice="run.history, run.predictions() and run.model() hold the result."
        if is_done
        else "A checkpoint of the last step is in the run's folder.",
        heads=("How it ended", "What came out", "What to do"),
    )
