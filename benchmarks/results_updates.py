"""Accuracy against the local steps of local SGD, and against the bound of a parameter server; kept run by run.

    python -m benchmarks.results_updates                      # what is missing of all runs, then the page
    python -m benchmarks.results_updates --minutes 30         # begin no run after half an hour
    python -m benchmarks.results_updates --page               # the page of what there is

GraphSAGE on the Debian graph by sampled mini-batches, four trainers, ranks as threads of one process. Runs are kept in
``docs/results/updates``, and ``docs/results/updates.md`` is written from them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kept_runs import Entry, KeptRuns, measure
from benchmarks.results_histories import ages_of
from benchmarks.results_partitions import fill
from workbench.graph import datasets

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
TRAINERS, NUM_SEEDS = 4, 3
WORDS: Entry = {"hidden_channels": 64, "fanouts": (10, 5), "batch_size": 128, "epochs": 4, "sparse": True}
OPTIMIZERS: dict[str, Entry] = {"adam": {"lr": 0.003}, "sgd": {"lr": 0.3}}
LOCAL_STEPS = (1, 2, 4, 8, 16, 32)
BOUNDS = (0, 1, 4, 16)
ROWS: dict[str, Entry] = {
    "all_reduce": {"update": "all_reduce"},
    **{f"local_sgd, H = {steps}": {"update": "local_sgd", "local_steps": steps} for steps in LOCAL_STEPS},
    **{f"parameter_server, s = {s}": {"update": "parameter_server", "staleness_bound": s} for s in BOUNDS},
}


def missing(kept: KeptRuns) -> Iterator[Entry]:
    """Yield the runs that are not there yet, in the order in which they are worth having."""
    for rng_seed in range(NUM_SEEDS):
        for optimizer in OPTIMIZERS:
            for row in ROWS:
                wanted = {"dataset": "debian", "optimizer": optimizer, "row": row, "rng_seed": rng_seed}
                if not kept.has(wanted):
                    yield wanted


def train(wanted: Entry) -> Entry:
    """Train one run."""
    words = {**WORDS, **OPTIMIZERS[wanted["optimizer"]], **ROWS[wanted["row"]], "trainers": TRAINERS}
    words |= {"optimizer": wanted["optimizer"], "rng_seed": wanted["rng_seed"]}
    run, found = measure(datasets.load("debian"), "sage", "mini_batch", words)
    mean, greatest = ages_of(run)
    return {**wanted, **found, "mean_age": round(mean, 2), "greatest_age": greatest}


def table(kept: KeptRuns, optimizer: str) -> str:
    lines = [
        "| update rule | test accuracy | runs | MB an epoch, all ranks | mean age | greatest age |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        where = {"optimizer": optimizer, "row": row}
        cell, count = kept.cell("test_accuracy", 100, **where)
        found = [run for run in kept.runs if where.items() <= run.items()]
        moved = f"{moved_bytes(found[0]) / 1e6:.1f}" if found else ""
        ages = ["", ""]
        if row.startswith("parameter_server") and found:
            ages = [kept.cell("mean_age", **where)[0], str(max(run["greatest_age"] for run in found))]
        lines.append(f"| {row} | {cell} | {count} | {moved} | {' | '.join(ages)} |")
    return "\n".join(lines)


def moved_bytes(run: Entry) -> int:
    """Return the bytes of gradients and parameters that the ranks handed over in the last epoch."""
    kinds = ("all_reduce", "parameter_average", "parameter_push", "parameter_pull")
    return sum(run["bytes_of_last_epoch"].get(kind, 0) for kind in kinds)


def report(kept: KeptRuns) -> str:
    """Return the page of what there is."""
    left = sum(1 for _ in missing(kept))
    blocks = [
        "# Accuracy by update rule",
        fill(
            f"GraphSAGE of 64 hidden channels on the Debian graph, fanouts (10, 5), batches of 128 on each of "
            f"{TRAINERS} "
            "trainers, 4 epochs: test accuracy in percent by exact inference, mean and standard deviation over "
            "values of "
            f"`rng_seed`. {len(kept.runs)} runs are here, {left} of those planned are missing; an empty cell was not "
            "measured. H: local steps from one average to the next. s: the staleness bound of the server; with s > "
            "0 each "
            "push is an update by itself, so that there are four times as many. Bytes are what ranks hand over: "
            "gradients, "
            "or parameters, in an epoch."
        ),
    ]
    for optimizer, words in OPTIMIZERS.items():
        blocks += [f"## {optimizer}, lr {words['lr']}", table(kept, optimizer)]
    blocks.append(
        fill(
            "Ranks are threads that share two cores, so the ages of the server's parameters are those of threads "
            "that get "
            "their turn, not those of machines of unequal speed. Written by `python -m benchmarks.results_updates` "
            "from "
            f"the runs in `updates/`. Load of the machine (2 cores) meanwhile: {kept.loads()}; with s > 0 it decides "
            f"which "
            "rank is how late."
        )
    )
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after that")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    kept = KeptRuns(RESULTS / "updates", ("dataset", "optimizer", "row", "rng_seed"))
    until_s = time.monotonic() + 60 * options.minutes
    for wanted in [] if options.page else list(missing(kept)):
        if time.monotonic() > until_s:
            break
        run = train(wanted)
        kept.add(run)
        print(wanted, f"{100 * run['test_accuracy']:.1f}", f"{run['elapsed_s']} s", flush=True)
    (RESULTS / "updates.md").write_text(report(kept))


if __name__ == "__main__":
    main()
