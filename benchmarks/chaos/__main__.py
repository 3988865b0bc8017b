"""Faults at random moments of tiny runs, and what must hold after each: ``python -m benchmarks.chaos --faults 200``.

Results are appended to a file, one line a fault; called again it goes on where it was. The table is printed, and
written as Markdown where asked for. It exits with 1 where anything was not as it must be.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.chaos import checks
from benchmarks.chaos.arena import WORLD_SIZE, Arena, kernel, losses_of
from benchmarks.chaos.inject import TooLateError, inject, wait_for_moment
from benchmarks.chaos.plan import BY_NAME, Fault, Kind, plan
from benchmarks.chaos.table import table_of
from workbench.runtime.run import Run

TRIES = 4
END_S = 150.0  # an overloaded machine is slow; that nothing is silent for 30 s is checked beside
GONE_S = 20.0


def suffer(arena: Arena, fault: Fault, expected: dict[tuple[int, int], float]) -> dict[str, Any]:
    """Let one run meet one fault and check everything; return the record."""
    kind = BY_NAME[fault.kind]
    for _ in range(TRIES):
        try:
            run, at_s = break_one(arena, kind, fault)
            run._wait(END_S)
            if checks.came_too_late(run, kind):
                raise TooLateError
            break
        except TooLateError:
            fault = fault.earlier()
        finally:
            arena.free_disk()
    else:
        return {"wrong": ["the run always ended before the fault came"]}
    record = judge(arena, run, kind, fault, at_s, expected)
    for wire in arena.wire.iterdir():
        wire.unlink()
    if not record["wrong"]:
        shutil.rmtree(run.folder, ignore_errors=True)
    else:
        record["run"] = run.id
    return record


def break_one(arena: Arena, kind: Kind, fault: Fault) -> tuple[Run, float]:
    """Start a run and let the fault happen; return the run, and when that was."""
    process = None
    if kind.name == "kernel_killed":
        process, run_id = kernel(arena)
        run = arena.session.attach(run_id)
    else:
        run = arena.launch(samplers=kind.samplers, limits=dict(kind.limits))
    try:
        wait_for_moment(run, fault)
        return run, inject(arena, run, fault)
    finally:
        if process is not None:
            process.kill()
            process.wait()


def judge(
    arena: Arena, run: Run, kind: Kind, fault: Fault, at_s: float, expected: dict[tuple[int, int], float]
) -> dict[str, Any]:
    """Wait for the end and return what was measured and what was wrong."""
    wrong: list[str] = []
    if not run.has_ended:
        wrong.append(f"still {run.status} {END_S:g} s after the fault")
        run.stop(force=True)
    last_s = run.events[-1].time_s
    wrong += checks.ended_rightly(run, kind)
    told, measured = checks.failure_is_told(run, kind, fault, at_s)
    wrong += told
    if kind.name == "scheduler_killed":
        wrong += all_gone(arena)
        arena.connect()
    wait_for_log(run)
    if kind.resumes and run.status == "failed":
        wrong += checks.checkpoints_are_readable(run)
        run = arena.session.resume(run.id)
        if not run._wait(END_S):
            wrong.append(f"still {run.status} {END_S:g} s after it was resumed")
        if run.status != "finished":
            wrong.append(f"resumed, it is {run.status}")
        wait_for_log(run)
    wrong += checks.log_is_whole(run)
    wrong += checks.every_step_is_told_once(run)
    wrong += checks.nothing_waited_long(run)
    wrong += checks.no_orphan(arena)
    if run.status == "finished":
        wrong += checks.equals_undisturbed(run, expected)
        wrong += checks.checkpoints_are_readable(run)
    return {"ended": run.status, "end_s": max(0.0, last_s - at_s), **measured, "wrong": wrong}


def wait_for_log(run: Run) -> None:
    """Give a log that a full disk held up, and its reader, a moment."""
    deadline = time.monotonic() + 3.0
    while time.monotonic() < deadline and list(checks.log_is_whole(run)):
        time.sleep(0.1)


def all_gone(arena: Arena) -> list[str]:
    """Wait until nothing of a cluster lives whose scheduler was killed."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline and arena.processes():
        time.sleep(0.2)
    left = arena.processes()
    return [f"{len(left)} processes live on without their scheduler"] if left else []


def main() -> int:
    """Run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--rng-seed", type=int, default=0)
    parser.add_argument(
        "--results", type=Path, default=Path("chaos.jsonl"), help="one line a fault; goes on from there"
    )
    parser.add_argument("--markdown", type=Path, help="where the table is written")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends it, nothing may stay
    until_s = time.monotonic() + 60 * options.minutes
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = {record["number"]: record for record in map(json.loads, lines)}
    todo = [f for f in plan(options.rng_seed, options.faults, WORLD_SIZE) if f.number not in done]
    if todo:
        done |= campaign(todo, options.results, until_s)
    records = [done[number] for number in sorted(done) if number < options.faults]
    table = table_of(records, options.faults)
    sys.stdout.write(table)
    if options.markdown:
        options.markdown.write_text(table)
    return int(any(record["wrong"] for record in records))


def campaign(todo: list[Fault], results: Path, until_s: float) -> dict[int, dict[str, Any]]:
    """Let every fault happen, and write down each result as it comes."""
    done: dict[int, dict[str, Any]] = {}
    arena = Arena()
    try:
        expected = losses_of(arena.launch().wait(END_S * 4))
        for fault in todo:
            if time.monotonic() > until_s:
                break
            if fault.kind == "disk_full" and not arena.is_mounted:
                continue
            began_s = time.monotonic()
            record = {
                "number": fault.number,
                "kind": fault.kind,
                "when": round(fault.when, 3),
                "load": os.getloadavg()[0],
            }
            record |= suffer(arena, fault, expected)
            record["took_s"] = time.monotonic() - began_s
            done[fault.number] = record
            with results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            verdict = "; ".join(record["wrong"]) or "ok"
            sys.stderr.write(f"{fault.number:>4} {fault.kind:<17} {record['took_s']:5.1f} s  {verdict}\n")
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            arena.close()
    return done


if __name__ == "__main__":
    sys.exit(main())
