"""An hour of events: does the memory of kernel and scheduler stay flat?

    python -m benchmarks.soak --minutes 60

8 ranks tell 1,000 steps a second; the kernel listens, asks for the run's history as a dashboard does, and keeps
nothing. Resident memory of both is sampled every 5 s. Printed are both at the end of the warm-up (the first fifth, at
least two minutes) and at the end, medians of a tenth of the samples each. It exits with 1 at 1 % of growth or a lost
event.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

import workbench as wb
from benchmarks.event_rate import Heard, scheduler_of, start

SAMPLE_S = 5.0
MAX_GROWTH = 0.01
WARM_UP_SHARE, LEAST_WARM_UP_S = 0.2, 120.0


def soak(ranks: int, events_per_s: float, minutes: float, samples: Path | None) -> list[str]:
    """Run it, print the figures, and return what is wrong with them."""
    session = wb.connect(trainers=ranks, samplers=0)
    seconds = minutes * 60
    memory: dict[str, list[int]] = {"kernel": [], "scheduler": []}
    try:
        processes = {"kernel": psutil.Process(), "scheduler": scheduler_of(session)}
        run, heard = start(session, ranks, events_per_s, seconds), Heard(keeps=False)
        run.subscribe(heard.take, replay=True)
        while not run.has_ended:
            time.sleep(SAMPLE_S)
            _ = run.status, len(run.history)
            for name, process in processes.items():
                memory[name].append(process.memory_info().rss)
            if samples:
                line = {name: values[-1] for name, values in memory.items()} | {"seq": heard.seq}
                with samples.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        status = run.status
        causes = [str(event.data["cause"]) for event in run.milestones if event.kind == "rank_failed"]
    finally:
        session.close(force=True)
    wrong = [*heard.wrong[:5], *([] if status == "finished" else [f"the run is {status}", *causes])]
    steps = sum(heard.last.values())
    sys.stdout.write(f"{minutes:g} minutes, {ranks} ranks, {steps:,} steps heard, load {os.getloadavg()[0]:.1f}\n")
    for name, values in memory.items():
        before, after = growth_of(values, max(WARM_UP_SHARE, LEAST_WARM_UP_S / seconds))
        sys.stdout.write(f"{name}: {before / 1e6:.1f} MB after warm-up, {after / 1e6:.1f} MB at the end")
        sys.stdout.write(f" ({after / before - 1:+.2%}); {max(values) / 1e6:.1f} MB at most\n")
        if after / before - 1 > MAX_GROWTH:
            wrong.append(f"{name}: promised is less than {MAX_GROWTH:.0%} of growth")
    return wrong


def growth_of(values: list[int], warm_up_share: float) -> tuple[float, float]:
    """Return the memory after warm-up and at the end: medians of a tenth of the samples."""
    begin, tenth = int(len(values) * min(warm_up_share, 0.5)), max(1, len(values) // 10)
    return statistics.median(values[begin : begin + tenth]), statistics.median(values[-tenth:])


def main() -> int:
    """Soak with the figures of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--events-per-s", type=float, default=1000.0)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("WORKBENCH_SOAK_MINUTES", "60")))
    parser.add_argument("--samples", type=Path, help="where every sample is appended")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-soak-") as home:
        os.environ["WORKBENCH_HOME"] = home
        wrong = soak(options.ranks, options.events_per_s, options.minutes, options.samples)
    sys.stdout.write("".join(f"{text}\n" for text in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
