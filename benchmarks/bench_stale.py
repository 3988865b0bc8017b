"""Late and sampled halos against exact ones, on a slow link and on none: where they win, and where they lose.

Two ranks of one thread train GCN on the Debian graph, by METIS parts, in two network namespaces that are joined by a
link of 10 ms each way and 100 Mbit/s (slow_link.py), and then on this machine's loopback. Strategies take turns, and
steps are compared by their medians: those in which nobody waited for a core, where there are enough of them. Beside
the time stands what each gives up for it: the training loss and the accuracy after the same number of epochs.

    python benchmarks/bench_stale.py --rounds 2 --epochs 20
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiet import Watch
from slow_link import Link, NoNamespaces, slow_link

import workbench as wb
from workbench.train import resolve

DELAY_S, BITS_PER_S = 0.010, 100e6
MIN_SPEEDUP = 1.3
NUM_QUIET = 10  # steps that it takes to say something
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "halo_exchange": ("halo_exchange", {}),
    "stale_halo T=1": ("stale_halo", {"staleness_bound": 1}),
    "stale_halo T=2": ("stale_halo", {"staleness_bound": 2}),
    "sampled_boundary q=0.1": ("sampled_boundary", {"boundary_rate": 0.1}),
}
MODEL = {"hidden_channels": 64, "num_layers": 3, "dropout": 0.0, "lr": 0.01}
SCRIPT = Path(__file__).with_name("link_rank.py")


@dataclass(slots=True)
class Found:
    """What the runs of one strategy on one link gave: steps (begin, end), their exchanges, bytes, and the end."""

    steps: list[tuple[float, float]] = field(default_factory=list)
    exchange_s: list[float] = field(default_factory=list)
    halo_bytes: list[int] = field(default_factory=list)
    loss: float = 0.0
    accuracy: float = 0.0

    def add(self, told: list[dict[str, Any]]) -> None:
        by_rank = [report["steps"] for report in told]
        for ranks in list(zip(*by_rank, strict=True))[3:]:  # the first ones warm up, and read zeros
            spans = [span for step in ranks for span in step["spans"] if span[0] != "evaluate"]
            self.steps.append((min(start for _, start, _ in spans), max(start + took for _, start, took in spans)))
            self.exchange_s.append(sum(took for phase, _, took in spans if phase == "exchange") / len(ranks))
            moved = (step["bytes"].get(kind, 0) for step in ranks for kind in ("halo_forward", "halo_backward"))
            self.halo_bytes.append(sum(moved))
        last = told[0]["epochs"][-1]
        self.loss, self.accuracy = last["train_loss"], last["metrics"]["test_accuracy"]


def train(graph: wb.Graph, case: str, epochs: int, link: Link | None) -> list[dict[str, Any]]:
    """Return what the ranks of a run told."""
    strategy, words = CASES[case]
    settings = {"partition": "metis", "trainers": 2, "epochs": epochs, "evaluate_every": 0, "checkpoint_every": 0}
    config = resolve(graph, "gcn", strategy, **settings, **MODEL, **words).config.to_json()
    spec = {"config": config, "interfaces": link.interfaces if link else [], "port": 29531}
    with tempfile.TemporaryDirectory() as folder:
        spec |= {"folder": folder, "host": link.hosts[0] if link else "127.0.0.1"}
        (Path(folder) / "spec.json").write_text(json.dumps(spec))
        ranks = []
        for rank in range(2):
            inside = ["ip", "netns", "exec", link.names[rank]] if link else []
            words_of_rank = [sys.executable, str(SCRIPT), str(Path(folder) / "spec.json"), str(rank)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            ranks.append(
                subprocess.Popen([*inside, *words_of_rank], stdout=subprocess.PIPE, text=True, env=environment)
            )
        try:
            return [json.loads(rank.communicate(timeout=900)[0].splitlines()[-1]) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()


def tell(name: str, found: dict[str, Found], watch: Watch) -> dict[str, float]:
    """Print a link's table, and return how much faster than halo_exchange each strategy is, by quiet steps."""
    print(f"\n{name}: epoch (quiet steps of all), waiting for exchanges, halo bytes an epoch, loss, test accuracy")
    seconds: dict[str, float] = {}
    for case, of_case in found.items():
        quiet = [step for step in of_case.steps if watch.was_quiet(*step)]
        chosen = quiet if len(quiet) >= NUM_QUIET else of_case.steps
        seconds[case] = statistics.median(end - begin for begin, end in chosen)
        quietly = f"{len(quiet)} quiet" if chosen is quiet else f"all {len(chosen)}: the machine is busy"
        print(
            f"  {case:24} {seconds[case] * 1000:7.0f} ms ({quietly}), exchange "
            f"{statistics.median(of_case.exchange_s) * 1000:6.0f} ms, {statistics.mean(of_case.halo_bytes) / 1e6:6.2f} "
            f"MB, loss {of_case.loss:.4f}, accuracy {of_case.accuracy:.4f}: "
            f"{seconds['halo_exchange'] / seconds[case]:.2f} times as fast as halo_exchange"
        )
    return {case: seconds["halo_exchange"] / took for case, took in seconds.items()}


def bench(name: str, options: argparse.Namespace, link: Link | None, watch: Watch) -> dict[str, float]:
    graph, found = wb.datasets.load("debian"), defaultdict[str, Found](Found)
    print(f"{name}; load {os.getloadavg()[0]:.1f}", flush=True)
    for _ in range(options.rounds):
        for case in options.cases:
            found[case].add(train(graph, case, options.epochs, link))
    print(f"load {os.getloadavg()[0]:.1f} at the end, {time.strftime('%H:%M')}")
    return tell(name, found, watch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=list(CASES))
    parser.add_argument("--without-loopback", action="store_true", help="measure the slow link alone")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-bench-"))
        os.environ.setdefault("WORKBENCH_HOME", home)
        watch = stack.enter_context(Watch())
        if not options.without_loopback:
            bench("loopback", options, None, watch)
        try:
            link = stack.enter_context(slow_link(DELAY_S, BITS_PER_S))
        except (NoNamespaces, FileNotFoundError) as error:
            print(f"no slow link here, nothing is asserted: {error}")
            return
        name = f"link of {DELAY_S * 1000:.0f} ms and {BITS_PER_S / 1e6:.0f} Mbit/s"
        speedup = bench(name, options, link, watch)["stale_halo T=1"]
    if speedup < MIN_SPEEDUP:
        raise SystemExit(f"missed: stale_halo is {speedup:.2f} times as fast as halo_exchange, not {MIN_SPEEDUP}")


if __name__ == "__main__":
    main()
