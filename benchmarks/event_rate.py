"""Events of 8 ranks, 1,000 a second, to a kernel: none is lost, how late they come, what they cost the kernel.

    python -m benchmarks.event_rate --seconds 60

Every rank tells as many steps a second as are asked for, with spans and bytes as a training does, and nothing else. The
kernel listens and does not draw. Prints the latency from the rank's `emit` to the listener in the kernel (half of the
50 ms for which a rank gathers included), CPU time of kernel and scheduler in percent of a core, and exits with 1 where
an event is lost or doubled, or at 500 ms (99th percentile) or 5 % of a core for the kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

import workbench as wb
from workbench.core.events import Event, of_kind
from workbench.runtime.function_call import function_config
from workbench.runtime.run import Run
from workbench.runtime.run_folder import RunFolder
from workbench.train.base import Outcome

WARM_UP_S = 3.0
MAX_P99_S, MAX_KERNEL_RATIO = 0.5, 0.05


def talk(context: Any) -> Outcome:
    """Be a rank that tells steps at a fixed rate until its time is over or somebody stops it."""
    plan = json.loads((context.folder / "plan.json").read_text())
    interval_s = context.world_size / plan["events_per_s"]
    begin_s = time.time()
    step = 0
    while (now_s := time.time()) < begin_s + plan["seconds"]:
        step += 1
        spans = [[phase, now_s, 0.001] for phase in ("sample", "gather", "forward", "backward", "all_reduce", "wait")]
        moved = {"gather": 123_456, "all_reduce": 7_890}
        fields = {"num_seeds": 128, "loss": 0.5 / step, "num_nodes": 4_321, "num_edges": 54_321}
        context.emit(
            "step_finished", epoch=1, step=step, spans=spans, bytes=moved, ring_filled=3, ring_slots=4, **fields
        )
        time.sleep(max(0.0, begin_s + step * interval_s - time.time()))
    return Outcome(status="finished", step=step, elapsed_s=time.time() - begin_s)


def start(session: wb.Session, ranks: int, events_per_s: float, seconds: float) -> Run:
    """Start a gang that only talks."""
    folder = RunFolder.create(function_config("talk", trainers=ranks, threads_per_trainer=1), "events at a rate")
    (folder.path / "plan.json").write_text(json.dumps({"events_per_s": events_per_s, "seconds": seconds}))
    session.scale(trainers=ranks)
    return session.cluster.hand_over(folder, {"rank": {"entry": "benchmarks.event_rate:talk"}}, "talk")


@dataclass(slots=True)
class Heard:
    """What the kernel heard: how late, and whether each rank's steps follow each other."""

    late_s: list[float] = field(default_factory=list)
    last: dict[int, int] = field(default_factory=dict)
    seq: int = 0
    wrong: list[str] = field(default_factory=list)
    keeps: bool = True

    def take(self, events: list[Event]) -> None:
        """Note some events; a listener of the run."""
        now_s = time.time()
        for event in events:
            if event.seq != self.seq + 1:
                self.wrong.append(f"event {event.seq} came after {self.seq}")
            self.seq = event.seq
        for event in of_kind(events, "step_finished"):
            if event.data["step"] != self.last.get(event.rank, 0) + 1:
                self.wrong.append(f"rank {event.rank}: step {event.data['step']} after {self.last.get(event.rank, 0)}")
            self.last[event.rank] = event.data["step"]
            if self.keeps:
                self.late_s.append(now_s - event.time_s)


def scheduler_of(session: wb.Session) -> psutil.Process:
    """Return the process of the local cluster's scheduler."""
    files = session.cluster._files
    record = files.read() if files is not None else None
    assert record is not None, "the benchmark runs on the local cluster"
    return psutil.Process(record["pid"])


def measure(ranks: int, events_per_s: float, seconds: float) -> list[str]:
    """Print the figures of one run and return what is wrong with them."""
    session = wb.connect(trainers=ranks, samplers=0)
    try:
        run, heard = start(session, ranks, events_per_s, seconds + 2 * WARM_UP_S), Heard()
        run.subscribe(heard.take, replay=True)
        while len(heard.last) < ranks and not run.has_ended:
            time.sleep(0.05)
        time.sleep(WARM_UP_S)
        kernel, scheduler = psutil.Process(), scheduler_of(session)
        heard.late_s.clear()
        before_s, cpu_s = time.monotonic(), [sum(process.cpu_times()[:2]) for process in (kernel, scheduler)]
        time.sleep(seconds)
        wall_s = time.monotonic() - before_s
        used = [
            (sum(process.cpu_times()[:2]) - cpu) / wall_s
            for process, cpu in zip((kernel, scheduler), cpu_s, strict=True)
        ]
        late_s = np.array(heard.late_s)
        run.wait(60.0 + seconds)
        told = sum(1 for _ in of_kind(run.events, "step_finished"))
    finally:
        session.close(force=True)
    p50, p99, worst = np.percentile(late_s, [50, 99, 100]) * 1e3
    rate = f"{len(late_s) / wall_s:,.0f} steps a second (asked for {events_per_s:,.0f})"
    late = f"late by {p50:.0f} ms (median), {p99:.0f} ms (99 %), {worst:.0f} ms (worst)"
    cpu = f"kernel {used[0]:.1%} and scheduler {used[1]:.1%} of a core"
    each = f"{used[0] * wall_s / max(1, len(late_s)) * 1e6:.0f} and {used[1] * wall_s / max(1, len(late_s)) * 1e6:.0f}"
    sys.stdout.write(f"{ranks} ranks, {rate} over {wall_s:.0f} s: {late}; {cpu}, {each} us an event; ")
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n")
    wrong = [str(event.data["cause"]) for event in of_kind(run.events, "rank_failed")] + heard.wrong
    if told != sum(heard.last.values()):
        wrong.append(f"the log tells {told} steps, the kernel heard {sum(heard.last.values())}")
    if p99 > MAX_P99_S * 1e3 or used[0] > MAX_KERNEL_RATIO:
        wrong.append(
            f"promised are {MAX_P99_S * 1e3:.0f} ms (99 %) and {MAX_KERNEL_RATIO:.0%} of a core for the kernel"
        )
    return wrong


def main() -> int:
    """Measure with the figures of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--events-per-s", type=float, default=1000.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ["WORKBENCH_HOME"] = home
        wrong = measure(options.ranks, options.events_per_s, options.seconds)
    sys.stdout.write("".join(f"{text}\n" for text in wrong[:20]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
