"""Training with histories beside the full batch: accuracy and age, and memory as the graph grows; kept run by run.

    python -m benchmarks.results_histories --root DATA        # what is missing of all runs, then the page
    python -m benchmarks.results_histories --minutes 30       # begin no run after half an hour
    python -m benchmarks.results_histories --page             # the page of what there is

Accuracy: ranks are threads of one process. Memory: every run is a process of its own. Runs are kept in files under
``docs/results/histories``, and ``docs/results/histories.md`` is written from them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.history_memory import GRAPHS, STRATEGIES
from benchmarks.kept_runs import Entry, KeptRuns, measure
from benchmarks.results_partitions import fill
from benchmarks.strategy_runs import KIPF, load
from workbench.testing.rank_context import LocalRun

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NUM_SEEDS = {"cora": 10, "pubmed": 3}
# Clusters, and how many a step: those of the paper's authors for these graphs, and ten of which one is a step.
AUTHORS = {"cora": (40, 10), "pubmed": (8, 4)}
MAIN = ("full_graph", "historical")
SIZES = (50_000, 100_000, 200_000, 400_000)


def rows_of(dataset: str) -> dict[str, Entry]:
    """Return the rows of the accuracy table: how each is trained."""
    clusters, per_batch = AUTHORS[dataset]
    own = {"num_clusters": clusters, "clusters_per_batch": per_batch}
    return {
        "full_graph": {"strategy": "full_graph"},
        "historical": {"strategy": "historical", **own},
        "historical, two trainers": {"strategy": "historical", **own, "trainers": 2},
        "historical, 1 of 10 clusters a step": {
            "strategy": "historical",
            "num_clusters": 10,
            "clusters_per_batch": 1,
        },
    }


def ages_of(run: LocalRun) -> tuple[float, int]:
    """Return mean and greatest age of the rows that were read."""
    ages: Counter[int] = Counter()
    for reading in run.told("staleness_measured"):
        ages.update(dict(zip(reading["ages"], reading["counts"], strict=True)))
    total = sum(ages.values())
    return sum(age * count for age, count in ages.items()) / max(1, total), max(ages, default=0)


def train(wanted: Entry, root: str | None) -> Entry:
    """Train one run of the accuracy table."""
    words = dict(rows_of(wanted["dataset"])[wanted["row"]])
    strategy = words.pop("strategy")
    graph = load(wanted["dataset"], root)
    run, found = measure(graph, "gcn", strategy, {**KIPF, **words, "rng_seed": wanted["rng_seed"]})
    mean, greatest = ages_of(run)
    return {**wanted, **found, "mean_age": round(mean, 2), "greatest_age": greatest}


def measure_memory(wanted: Entry) -> Entry:
    """Train a few steps in a process of its own, and keep how much memory it took."""
    command = [sys.executable, "-m", "benchmarks.history_memory", wanted["graph"], str(wanted["num_nodes"])]
    done = subprocess.run([*command, wanted["row"]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{wanted} ended with {done.returncode}: {done.stderr[-2000:]}")
    return {**wanted, **json.loads(done.stdout.splitlines()[-1]), "load": round(os.getloadavg()[0], 1)}


def missing(kept: KeptRuns) -> Iterator[Entry]:
    """Yield the runs that are not there yet, in the order in which they are worth having."""
    for rows in (MAIN, None):
        for rng_seed in range(max(NUM_SEEDS.values())):
            for dataset, num_seeds in NUM_SEEDS.items():
                for row in rows or rows_of(dataset):
                    wanted = {"dataset": dataset, "row": row, "rng_seed": rng_seed, "graph": None, "num_nodes": None}
                    if rng_seed < num_seeds and not kept.has(wanted):
                        yield wanted
            if rng_seed == 0 and rows is not None:
                yield from _missing_memory(kept)


def _missing_memory(kept: KeptRuns) -> Iterator[Entry]:
    for num_nodes in SIZES:
        for graph in GRAPHS:
            for row in STRATEGIES:
                wanted = {"dataset": "memory", "row": row, "rng_seed": 0, "graph": graph, "num_nodes": num_nodes}
                if not kept.has(wanted):
                    yield wanted


def taken_over(wanted: Entry) -> Entry | None:
    """Return a run of the full batch that `results_strategies` has measured with the same keywords, or None."""
    path = RESULTS / "strategies" / f"citations_{wanted['dataset']}.json"
    if wanted["row"] != "full_graph" or not path.is_file():
        return None
    same = {"model": "gcn", "row": "full_graph", "rng_seed": wanted["rng_seed"], "keywords": KIPF}
    for run in json.loads(path.read_text())["runs"]:
        if same.items() <= run.items():
            return {**run, **wanted, "mean_age": 0.0, "greatest_age": 0}
    return None


def accuracy_table(kept: KeptRuns) -> str:
    lines = []
    for dataset in NUM_SEEDS:
        lines += [f"### {dataset}", "", "| trained by | test accuracy | runs | mean age | greatest age |"]
        lines.append("|---|---|---|---|---|")
        for row in rows_of(dataset):
            cell, count = kept.cell("test_accuracy", 100, dataset=dataset, row=row)
            age, _ = kept.cell("mean_age", dataset=dataset, row=row)
            greatest = max(
                (r["greatest_age"] for r in kept.runs if (r["dataset"], r["row"]) == (dataset, row)), default=""
            )
            ages = [age, str(greatest)] if row != "full_graph" else ["", ""]
            lines.append(f"| {row} | {cell} | {count} | {' | '.join(ages)} |")
        lines.append("")
    return "\n".join(lines)


def memory_table(kept: KeptRuns, graph: str) -> str:
    lines = [f"| nodes of the graph | {' | '.join(STRATEGIES)} | rows of the largest batch |", "|---" * 5 + "|"]
    for num_nodes in SIZES:
        found = {run["row"]: run for run in kept.runs if (run["graph"], run["num_nodes"]) == (graph, num_nodes)}
        cells = [f"{found[row]['peak_bytes'] / 2**20:,.0f} MiB" if row in found else "" for row in STRATEGIES]
        largest = f"{found['historical, mmap']['largest_batch']:,}" if "historical, mmap" in found else ""
        lines.append(f"| {num_nodes:,} | {' | '.join(cells)} | {largest} |")
    return "\n".join(lines)


def report(kept: KeptRuns) -> str:
    """Return the page of what there is."""
    left = len({tuple(wanted[name] for name in kept.names) for wanted in missing(kept)})
    blocks = [
        "# Training with histories",
        fill(
            f"Strategy `historical` (GNNAutoScale) beside `full_graph`. {len(kept.runs)} runs are here, {left} of "
            f"those "
            "planned are missing; an empty cell was not measured."
        ),
        "## Accuracy and age",
        fill(
            "GCN with the hyperparameters of Kipf & Welling, public splits, 200 epochs; METIS clusters as many as the "
            "authors of GNNAutoScale took (Cora 40, 10 a step; PubMed 8, 4 a step). Test accuracy in percent after the "
            "last epoch, by exact inference: mean and standard deviation over values of `rng_seed`. Ages are in "
            "steps, of "
            "all history rows read; a step of `historical` is an update, so that 200 epochs are 800 or 400 updates "
            "(2,000 with one of ten clusters a step) where `full_graph` makes 200."
        ),
        accuracy_table(kept).strip(),
        "## Memory as the graph grows",
        fill(
            "Peak memory of a process over what it held before training, up to the last of two epochs' steps; "
            "GraphSAGE, "
            "three layers of 64, 64 features. Batches of `historical` are single clusters of 5,000 nodes, so their "
            "number "
            "grows with the graph and their size does not. Histories take 2 x 64 numbers a node: in memory with "
            '`history="memory"`, in a file with `history="mmap"`, whose pages the system may drop (they count here '
            "while they are resident). The process also keeps what grows with the graph for every strategy: features, "
            "edges and the copy that exact evaluation of small graphs takes."
        ),
    ]
    for graph, title in GRAPHS.items():
        blocks += [f"### {title}", memory_table(kept, graph)]
    blocks.append(
        fill(
            "Written by `python -m benchmarks.results_histories` from the runs in `histories/`, which have their "
            "keywords, "
            f"bytes and seconds. Load of the machine (2 cores) meanwhile: {kept.loads()}; it changes seconds, not "
            f"accuracies."
        )
    )
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.environ.get("WORKBENCH_DATA"), help="folder of the data sets")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after that")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("--only", choices=("accuracy", "memory"), help="one of the two alone")
    options = parser.parse_args()
    kept = KeptRuns(RESULTS / "histories", ("dataset", "row", "rng_seed", "graph", "num_nodes"))
    until_s = time.monotonic() + 60 * options.minutes
    for wanted in [] if options.page else list(missing(kept)):
        if time.monotonic() > until_s:
            break
        if kept.has(wanted) or options.only == ("accuracy" if wanted["dataset"] == "memory" else "memory"):
            continue
        if wanted["graph"] is not None:
            run: dict[str, Any] = measure_memory(wanted)
        else:
            run = taken_over(wanted) or train(wanted, options.root)
        kept.add(run)
        print({name: run[name] for name in kept.names}, run.get("test_accuracy", run.get("peak_bytes")), flush=True)
    (RESULTS / "histories.md").write_text(report(kept))


if __name__ == "__main__":
    main()
