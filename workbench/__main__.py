"""``python -m workbench runs | stop | doctor``: what a terminal can ask."""

from __future__ import annotations

import argparse
import os
import sys

from workbench.core.errors import WorkbenchError


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workbench", description="Runs of this home, and this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("runs", help="list the runs, the newest first")
    stop = commands.add_parser("stop", help="stop a run, or the local cluster with all its runs")
    stop.add_argument("run_id", nargs="?", help="the run; without it the local cluster ends")
    commands.add_parser("doctor", help="say what is wrong with this machine")
    parsed = parser.parse_args(arguments)
    try:
        status = {"runs": _runs, "stop": _stop, "doctor": _doctor}[parsed.command](parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough, as in `runs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _runs(_: argparse.Namespace) -> int:
    from workbench.session import runs

    table = runs()
    print("no run yet" if table.empty else table.to_string(index=False))
    return 0


def _stop(parsed: argparse.Namespace) -> int:
    from workbench.runtime import stop_local
    from workbench.session import attach

    if parsed.run_id is None:
        print("the local cluster has ended" if stop_local() else "no local cluster is running")
        return 0
    print(attach(parsed.run_id).stop())
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from workbench.session import doctor

    report = doctor()
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
