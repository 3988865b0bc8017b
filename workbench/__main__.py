"""``python -m workbench run | runs | attach | stop | resume | export | clean | doctor``: what a terminal can ask."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from workbench.core.errors import RunError, WorkbenchError
from workbench.core.units import format_bytes


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 0, 1 where what was asked for failed, or 2 where it was asked wrongly."""
    parsed = _parser().parse_args(arguments)
    commands = {
        "run": _run,
        "runs": _runs,
        "attach": _attach,
        "stop": _stop,
        "resume": _resume,
        "export": _export,
        "clean": _clean,
        "doctor": _doctor,
    }
    try:
        status = commands[parsed.command](parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough, as in `runs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, RunError) else 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workbench", description="Runs of this home, and this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="launch a configuration (a run folder's config.json) and follow it")
    run.add_argument("config", type=Path, help="config.json of a run, or a run's folder")
    commands.add_parser("runs", help="list the runs, the newest first")
    for name, text in (("attach", "follow a run to its end"), ("resume", "go on with a run from its last checkpoint")):
        commands.add_parser(name, help=text).add_argument("run_id", help="the run's id, or a beginning of it")
    stop = commands.add_parser("stop", help="stop a run, or the local cluster with all its runs")
    stop.add_argument("run_id", nargs="?", help="the run; without it the local cluster ends")
    export = commands.add_parser("export", help="print a script that trains a run again")
    export.add_argument("run_id", help="the run's id, or a beginning of it")
    clean = commands.add_parser("clean", help="list old runs and, with --yes, remove their folders")
    clean.add_argument("--keep", type=int, default=20, help="the newest runs that stay in any case (20)")
    clean.add_argument("--older-than", type=float, default=30.0, metavar="DAYS", help="only runs older than that (30)")
    clean.add_argument("--yes", action="store_true", help="remove them; without it nothing is removed")
    commands.add_parser("doctor", help="say what is wrong with this machine")
    return parser


def _run(parsed: argparse.Namespace) -> int:
    from workbench.runtime.follow import follow, read_config
    from workbench.session import connect

    config, summary = read_config(parsed.config)
    session = connect(trainers=config.trainers, samplers=config.samplers)
    return follow(session.cluster.submit(config, summary=summary))


def _runs(_: argparse.Namespace) -> int:
    from workbench.session import runs

    table = runs()
    print("no run yet" if table.empty else table.to_string(index=False))
    return 0


def _attach(parsed: argparse.Namespace) -> int:
    from workbench.runtime.follow import follow
    from workbench.session import attach

    return follow(attach(parsed.run_id))


def _stop(parsed: argparse.Namespace) -> int:
    from workbench.runtime import stop_local
    from workbench.session import attach

    if parsed.run_id is None:
        print("the local cluster has ended" if stop_local() else "no local cluster is running")
        return 0
    print(attach(parsed.run_id).stop())
    return 0


def _resume(parsed: argparse.Namespace) -> int:
    from workbench.runtime import RunFolder
    from workbench.runtime.follow import follow
    from workbench.session import connect

    config = RunFolder.find(parsed.run_id).config
    return follow(connect(trainers=config.trainers, samplers=config.samplers).resume(parsed.run_id))


def _export(parsed: argparse.Namespace) -> int:
    from workbench.session import export_script

    print(export_script(parsed.run_id), end="")
    return 0


def _clean(parsed: argparse.Namespace) -> int:
    from workbench.runtime.retention import DAY_S, removable, remove

    found = removable(keep=max(0, parsed.keep), older_than_s=parsed.older_than * DAY_S)
    for run in found:
        print(f"{run.folder.id}  {format_bytes(run.num_bytes):>10}  {run.age_s / DAY_S:.0f} days old")
    total = format_bytes(sum(run.num_bytes for run in found))
    if not found:
        print(f"nothing to remove: no run beyond the newest {parsed.keep} is older than {parsed.older_than:g} days")
    elif parsed.yes:
        remove(found)
        print(f"removed {len(found)} runs, {total}")
    else:
        print(f"{len(found)} runs, {total}: nothing was removed. With --yes they are")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from workbench.session import doctor

    report = doctor()
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
