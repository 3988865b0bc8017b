"""What must hold after a fault; every check returns what it found wrong, in words."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any

import torch

from benchmarks.chaos.arena import WORLD_SIZE, Arena, losses_of
from benchmarks.chaos.plan import STARTING_SHARE, Fault, Kind
from workbench.core.events import Event, decode_log, of_kind
from workbench.runtime.run import Run

TOLD_WITHIN_S = 5.0
AGAIN_WITHIN_S = 10.0
HANG_S = 30.0
ORPHAN_S = 3.0


def log_is_whole(run: Run) -> Iterable[str]:
    """No event is lost, doubled or torn, on disk and as the reader got them."""
    data = run._folder.log.read_bytes()
    logged, used = decode_log(data)
    if used != len(data):
        yield f"the log is torn: {len(data) - used} bytes"
    if [event.seq for event in logged] != list(range(1, len(logged) + 1)):
        yield "the log has a gap or a double"
    if run.events != logged:
        yield f"the reader got {len(run.events)} events, the log holds {len(logged)}"


def every_step_is_told_once(run: Run) -> Iterable[str]:
    """In every generation a rank's steps follow each other from the checkpoint on: none is missing or told twice."""
    begin: dict[int, int] = {}
    last: dict[tuple[int, int], int] = {}
    for event in of_kind(run.events, "gang_starting", "step_finished"):
        if event.kind == "gang_starting":
            begin[event.generation] = event.data["resume_step"]
            continue
        before = last.get((event.generation, event.rank), begin[event.generation])
        if event.data["step"] != before + 1:
            yield f"rank {event.rank} told step {event.data['step']} after {before} in generation {event.generation}"
        last[event.generation, event.rank] = event.data["step"]


def nothing_waited_long(run: Run) -> Iterable[str]:
    """Between two events of a gang less than 30 s pass; waiting for a cluster that starts is no hang of the run."""
    pairs = itertools.pairwise(run.events)
    longest = max((after.time_s - before.time_s for before, after in pairs if after.kind != "gang_starting"), default=0)
    if longest > HANG_S:
        yield f"nothing was told for {longest:.1f} s"


def came_too_late(run: Run, kind: Kind) -> bool:
    """Say whether a fault that must show did not: the run was done when it came."""
    must_show = kind.restarts or kind.ends == "failed"
    failed = any(True for _ in of_kind(run.events, "rank_failed"))
    return bool(must_show) and run.status == "finished" and not failed


def ended_rightly(run: Run, kind: Kind) -> Iterable[str]:
    """The run is in the state that decisions.md asks for, after as many restarts."""
    if run.status != kind.ends:
        yield f"the run is {run.status}, expected {kind.ends}"
    restarts = [event for event in of_kind(run.events, "run_restarting") if event.data["attempt"]]
    if len(restarts) > kind.restarts:
        yield f"{len(restarts)} restarts, expected {kind.restarts}"


def equals_undisturbed(run: Run, expected: dict[tuple[int, int], float]) -> Iterable[str]:
    """A run that finished has the losses of the undisturbed one, bit for bit."""
    if losses_of(run) != expected:
        yield "the losses differ from those of the undisturbed run"
    weights = torch.load(run.folder / "model.pt", weights_only=True)
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        yield "the final model is not finite"


def checkpoints_are_readable(run: Run) -> Iterable[str]:
    """No checkpoint is half-written and no temporary file stays."""
    for path in sorted((run.folder / "checkpoints").iterdir()):
        if path.suffix == ".tmp":
            yield f"{path.name} was left behind"
        elif path.suffix == ".pt":
            torch.load(path, weights_only=True)


def no_orphan(arena: Arena) -> Iterable[str]:
    """No rank is left, and one zygote at most."""
    deadline = time.monotonic() + ORPHAN_S
    while time.monotonic() < deadline and arena.ranks():
        time.sleep(0.05)
    if ranks := arena.ranks():
        yield f"ranks {[rank.pid for rank in ranks]} live on"
    while time.monotonic() < deadline + 10.0 and len(arena.zygotes()) > 1:  # who came second leaves
        time.sleep(0.2)
    if len(arena.zygotes()) > 1:
        yield f"{len(arena.zygotes())} zygotes"


def failure_is_told(run: Run, kind: Kind, fault: Fault, at_s: float) -> tuple[list[str], dict[str, float]]:
    """The event names rank, host, part, cause and log tail within 5 s; the gang trains again within 10 s."""
    wrong: list[str] = []
    measured: dict[str, float] = {}
    failed = [event for event in of_kind(run.events, "rank_failed") if event.time_s >= at_s - 0.5]
    if not failed:
        may_be_silent = not (kind.restarts or kind.ends == "failed") or kind.name == "scheduler_killed"
        is_early = fault.when < STARTING_SHARE
        return ([] if may_be_silent or is_early else ["no rank_failed event"]), measured
    event = failed[-1] if kind.name == "memory_twice" else failed[0]
    measured["told_s"] = event.time_s - at_s
    if kind.name == "rank_hangs":
        first = next((e for e in of_kind(run.events, "log_written") if "stands still" in e.data["text"]), event)
        measured["told_s"] = first.time_s - at_s
    limit_s = None if kind.name == "disk_full" else TOLD_WITHIN_S  # it is met when something is written next
    if limit_s is not None and measured["told_s"] > limit_s:
        wrong.append(f"told after {measured['told_s']:.1f} s")
    wrong += _words_of(event, kind, fault)
    again = next((e for e in of_kind(run.events, "run_started") if e.time_s > event.time_s), None)
    if again is not None and kind.restarts and kind.ends == "finished":
        measured["again_s"] = again.time_s - event.time_s
        if measured["again_s"] > AGAIN_WITHIN_S and kind.name != "zygote_killed":
            wrong.append(f"trained again only after {measured['again_s']:.1f} s")
    return wrong, measured


def _words_of(event: Event, kind: Kind, fault: Fault) -> Iterable[str]:
    data: Any = event.data
    is_early = fault.when < STARTING_SHARE
    if kind.names_rank and not is_early and event.rank != fault.rank:
        yield f"names rank {event.rank}, hit was {fault.rank}"
    if not 0 <= event.rank < WORLD_SIZE or "127.0.0.1" not in data["host"] or "part" not in data:
        yield f"rank {event.rank}, host {data['host']!r} or part are missing"
    if kind.says not in data["cause"].lower() and not (is_early and kind.name in ("worker_killed", "trainer_killed")):
        yield f"the cause does not say {kind.says!r}: {data['cause']!r}"
    if not isinstance(data["log_tail"], str):
        yield "the log tail is missing"
