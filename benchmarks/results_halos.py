"""Accuracy against the staleness of the halo, and against its rate of sampling; kept run by run.

    python -m benchmarks.results_halos                      # what is missing of all runs, then the page
    python -m benchmarks.results_halos --minutes 30         # begin no run after half an hour
    python -m benchmarks.results_halos --page               # the page of what there is

GCN on Cora and PubMed, four trainers with a part each, ranks as threads of one process. Runs are kept in
``docs/results/halos``, and ``docs/results/halos.md`` is written from them. --root, or WORKBENCH_DATA: raw data sets.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kept_runs import Entry, KeptRuns, measure
from benchmarks.results_partitions import fill
from benchmarks.strategy_runs import KIPF, load

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
TRAINERS = 4
NUM_SEEDS = {"cora": 10, "pubmed": 3}
PARTITIONS = ("random", "metis")
ROWS: dict[str, tuple[str, Entry]] = {
    "halo_exchange": ("halo_exchange", {}),
    **{f"stale_halo, T = {t}": ("stale_halo", {"staleness_bound": t}) for t in (1, 2, 4, 8)},
    "stale_halo, T = 1, γ = 0.5": ("stale_halo", {"staleness_bound": 1, "smoothing": 0.5}),
    "stale_halo, T = 4, sent every 4": ("stale_halo", {"staleness_bound": 4, "refresh_every": 4}),
    **{f"sampled_boundary, q = {q}": ("sampled_boundary", {"boundary_rate": q}) for q in (0.5, 0.1, 0.01, 0.0)},
}


def missing(kept: KeptRuns) -> Iterator[Entry]:
    """Yield the runs that are not there yet, in the order in which they are worth having."""
    for rng_seed in range(max(NUM_SEEDS.values())):
        for dataset, number in NUM_SEEDS.items():
            for partition in PARTITIONS if rng_seed < number else ():
                for row in ROWS:
                    wanted = {"dataset": dataset, "partition": partition, "row": row, "rng_seed": rng_seed}
                    if not kept.has(wanted):
                        yield wanted


def train(wanted: Entry, root: str | None) -> Entry:
    """Train one run."""
    strategy, words = ROWS[wanted["row"]]
    words = {**KIPF, **words, "trainers": TRAINERS, "partition": wanted["partition"], "rng_seed": wanted["rng_seed"]}
    run, found = measure(load(wanted["dataset"], root), "gcn", strategy, words)
    steps = run.told("step_finished")
    moved = sum(step["bytes"].get(kind, 0) for step in steps for kind in ("halo_forward", "halo_backward"))
    cold = sum(reading["num_cold"] for reading in run.told("staleness_measured"))
    return {**wanted, **found, "halo_bytes": moved, "cold_rows": cold}


def table(kept: KeptRuns, partition: str) -> str:
    lines = [
        "| halo | Cora | runs | PubMed | runs | halo MB of a run on Cora | rows read as zeros |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        where = {"partition": partition, "row": row}
        cells = [kept.cell("test_accuracy", 100, dataset=dataset, **where) for dataset in NUM_SEEDS]
        found = [run for run in kept.runs if {**where, "dataset": "cora"}.items() <= run.items()]
        moved = f"{sum(run['halo_bytes'] for run in found) / len(found) / 1e6:.1f}" if found else ""
        cold = f"{found[0]['cold_rows']:,}" if found and row.startswith("stale_halo") else ""
        lines.append(f"| {row} | {' | '.join(f'{cell} | {count}' for cell, count in cells)} | {moved} | {cold} |")
    return "\n".join(lines)


def report(kept: KeptRuns) -> str:
    """Return the page of what there is."""
    left = sum(1 for _ in missing(kept))
    blocks = [
        "# Accuracy by staleness and by sampling of the halo",
        fill(
            f"GCN of 16 hidden channels, two layers, 200 epochs (Kipf & Welling's settings) on the public splits, "
            f"{TRAINERS} trainers with a part each: test accuracy in percent by exact inference after the last epoch, "
            f"mean and standard deviation over values of `rng_seed`. {len(kept.runs)} runs are here, {left} of those "
            "planned are missing; an empty cell was not measured. T: steps that rows and gradients of the halo are "
            "late; γ: smoothing; q: share of the halo's rows that travel in a step. GCN drops out of its features, so "
            "the halo's features travel too. Bytes: rows and gradients of the halo, all ranks, a whole run."
        ),
    ]
    for partition in PARTITIONS:
        blocks += [f"## {partition} parts", table(kept, partition)]
    blocks.append(
        fill(
            "Ranks are threads of one process: nothing here says how long an epoch takes. Written by `python -m "
            f"benchmarks.results_halos` from the runs in `halos/`. Load of the machine (2 cores) meanwhile: "
            f"{kept.loads()}; results do not depend on it."
        )
    )
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after that")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("--root", default=os.environ.get("WORKBENCH_DATA"), help="folder of the raw data sets")
    options = parser.parse_args()
    kept = KeptRuns(RESULTS / "halos", ("dataset", "partition", "row", "rng_seed"))
    root = None if options.root is None else f"{options.root}/planetoid"
    until_s = time.monotonic() + 60 * options.minutes
    for wanted in [] if options.page else list(missing(kept)):
        if time.monotonic() > until_s:
            break
        run = train(wanted, root)
        kept.add(run)
        print(wanted, f"{100 * run['test_accuracy']:.1f}", f"{run['elapsed_s']} s", flush=True)
    (RESULTS / "halos.md").write_text(report(kept))


if __name__ == "__main__":
    main()
