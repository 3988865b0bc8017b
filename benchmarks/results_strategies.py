"""Test accuracy after training by each strategy, beside published figures; kept run by run, so that it may stop.

    python -m benchmarks.results_strategies                   # what is missing of all runs, then the pages
    python -m benchmarks.results_strategies --minutes 60      # begin no run after an hour
    python -m benchmarks.results_strategies --page            # the pages of what there is
    python -m benchmarks.results_strategies --partitions      # partitioners against epoch time and bytes instead

Ranks are threads of one process. Every run is kept as it ends, in a file under ``docs/results/strategies``; the pages
``docs/results/strategies.md`` and ``docs/results/partitions.md`` are written from these files.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import results_partitions
from benchmarks.results_partitions import fill
from benchmarks.strategy_runs import BY_STRATEGY, GROUPS, NUM_SEEDS, Case, Entry, measure

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
TURNS = (range(1), range(1, 3), range(3, max(NUM_SEEDS.values())))  # of rng_seed: all groups, before any gets more
CITATIONS = ("cora", "pubmed")
PUBLISHED = {  # percent: Kipf & Welling 2017; Velickovic et al. 2018
    "gcn": {"cora": 81.5, "pubmed": 79.0},
    "gat": {"cora": 83.0, "pubmed": 79.0},
}
PUBLISHED_CLUSTERS = {"random": {"cora": 78.4, "pubmed": 78.9}, "metis": {"cora": 82.5, "pubmed": 79.9}}
PUBLISHED_SAGE = {"computers": 82.4, "cs": 91.3}  # Shchur et al. 2018, GraphSAGE-mean, 100 other splits, tuned
SAGE = ("computers", "cs", "debian", "wordnet")
TITLES = {"gcn": "GCN", "gat": "GAT"}


class Kept:
    """All runs there are, in one file a table and data set, each whole after every run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "strategies"
        self.runs: list[Entry] = []
        for path in sorted(self.folder.glob("*.json")):
            self.runs += json.loads(path.read_text())["runs"]

    def done(self) -> set[tuple[object, ...]]:
        names = ("table", "dataset", "model", "row", "rng_seed")
        return {tuple(run[name] for name in names) for run in self.runs}

    def add(self, run: Entry) -> None:
        self.runs.append(run)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{run['table']}_{run['dataset']}.json"
        same = [one for one in self.runs if (one["table"], one["dataset"]) == (run["table"], run["dataset"])]
        aside = path.with_suffix(".part")
        aside.write_text(json.dumps({"runs": same}, indent=1) + "\n")
        aside.replace(path)

    def cells(self, table: str, model: str, row: str, dataset: str, of: str = "test_accuracy") -> list[str]:
        """Return mean and deviation of the test accuracy in percent, and the number of runs."""
        wanted = {"table": table, "model": model, "row": row, "dataset": dataset}
        values = [100 * run[of] for run in self.runs if wanted.items() <= run.items()]
        if not values:
            return ["", "0"]
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return [f"{statistics.mean(values):.1f}{spread}", str(len(values))]


def missing(kept: Kept) -> Iterator[tuple[Case, int]]:
    """Yield the runs that are not there yet, in the order in which they are worth having."""
    done = kept.done()
    for rng_seeds in TURNS:
        for rng_seed, case in ((one, case) for group in GROUPS for one, case in itertools.product(rng_seeds, group)):
            if rng_seed < NUM_SEEDS[case.dataset] and case.key(rng_seed) not in done:
                yield case, rng_seed


def rows_of(head: str, datasets: Iterable[str], rows: Iterable[list[str]]) -> str:
    """Return a Markdown table with two columns a data set: its figure, and the runs behind it."""
    names = [f"{dataset} | runs" for dataset in datasets]
    lines = [f"| {head} | {' | '.join(names)} |", "|---" * (1 + 2 * len(names)) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)])


def published(figures: dict[str, float], datasets: Iterable[str]) -> list[str]:
    return ["published", *(cell for dataset in datasets for cell in (str(figures.get(dataset, "")), ""))]


def table(kept: Kept, name: str, model: str, rows: Iterable[str], datasets: tuple[str, ...]) -> list[list[str]]:
    return [[row, *(cell for one in datasets for cell in kept.cells(name, model, row, one))] for row in rows]


def citations_tables(kept: Kept) -> str:
    parts = []
    for model, title in TITLES.items():
        rows = [published(PUBLISHED[model], CITATIONS), *table(kept, "citations", model, BY_STRATEGY, CITATIONS)]
        parts.append(f"### {title}\n\n{rows_of('strategy', CITATIONS, rows)}")
    return "\n\n".join(parts)


def clusters_table(kept: Kept) -> str:
    rows = []
    for how, figures in PUBLISHED_CLUSTERS.items():
        rows.append([f"{how}, published", *published(figures, CITATIONS)[1:]])
        for label, of in (("last epoch", "test_accuracy"), ("best validation", "test_accuracy_at_best_val")):
            cells = [cell for one in CITATIONS for cell in kept.cells("clusters", "gcn", how, one, of)]
            rows.append([f"{how}, {label}", *cells])
    return rows_of("parts", CITATIONS, rows)


def kept_edges(kept: Kept) -> str:
    """Say how many edges the batches of clusters keep, and in how many steps they were trained on."""
    found = [
        f"{run['dataset']} {100 * run['edges_of_last_epoch']:.0f}% in {run['steps']} steps"
        for run in kept.runs
        if (run["table"], run["row"], run["rng_seed"]) == ("sage", "cluster_batch", 0) and "edges_of_last_epoch" in run
    ]
    return (
        "`cluster_batch` takes 10 of 50 METIS clusters a step. The share of the graph's edges that an epoch of it "
        f"computes on, and its steps: {', '.join(found) or 'not measured yet'}. The other edges are dropped in "
        "training and read in evaluation. With all clusters in one batch it is `full_graph`; where it "
        "stands far below, it has taken few steps, or learned from means over few neighbours."
    )


def report(kept: Kept) -> str:
    """Return the page of what there is."""
    loads = [run["load"] for run in kept.runs] or [0.0]
    left = sum(1 for _ in missing(kept))
    sage = [published(PUBLISHED_SAGE, SAGE), *table(kept, "sage", "sage", BY_STRATEGY, SAGE)]
    blocks = [
        "# Accuracy after training by each strategy",
        fill(
            "Test accuracy in percent after the last epoch, by exact inference over the whole graph: mean and standard "
            f"deviation over values of `rng_seed`, with the number of runs. {len(kept.runs)} runs are here, {left} of "
            "those planned are missing; an empty cell was not measured. `halo_exchange` and `partitioned_mini_batch` "
            "on two trainers with a METIS part each, the others on one."
        ),
        "## Citation graphs, public splits",
        fill(
            "Hyperparameters of the papers, 200 epochs without early stopping, rows of the features divided by their "
            "sum. A strategy with one step an epoch takes 200 steps; `cluster_batch` with 10 clusters, 5 a step, 400. "
            "`mini_batch` samples (25, 10) neighbours; GCN divides by the degrees that it finds in a batch."
        ),
        citations_tables(kept),
        "## Cluster-GCN, table 2",
        fill(
            "GCN of 16 hidden channels, 10 parts, one a step, drawn at random or by METIS, beside the figures of "
            "Chiang et al. 2019. Parts are drawn anew for every `rng_seed`; 2,000 steps. Degrees are those within the "
            "part. With one part a step the accuracy swings from epoch to epoch, most with random parts: beside the "
            "last epoch stands the one with the best validation accuracy, of every fifth."
        ),
        clusters_table(kept),
        "## GraphSAGE",
        fill(
            "Computers and CS: 20 nodes a class train, another split for each `rng_seed`; 64 hidden channels, 100 "
            "steps on Computers and 30 on CS; published are means over 100 splits with tuned hyperparameters (Shchur "
            "et al. 2018). Debian and WordNet: 128 hidden channels, 4 epochs (60 steps where a step is the whole "
            "graph): so few that this is where a strategy stands early, not what it reaches."
        ),
        rows_of("strategy", SAGE, sage),
        fill(kept_edges(kept)),
        fill(
            "Written by `python -m benchmarks.results_strategies` from the runs in `strategies/`, which have their "
            f"keywords and seconds. Load of the machine (2 cores) meanwhile: {min(loads):.0f} to {max(loads):.0f}; it "
            "changes seconds, not accuracies."
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def complete(kept: Kept, root: str | None, until_s: float) -> None:
    """Measure what is missing, and keep each run as it ends."""
    for case, rng_seed in missing(kept):
        if time.monotonic() > until_s:
            return
        run = measure(case, rng_seed, root)
        kept.add(run)
        print(*case.key(rng_seed), f"{100 * run['test_accuracy']:.1f}", f"{run['elapsed_s']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.environ.get("WORKBENCH_DATA"), help="folder of the data sets")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after that")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("--partitions", action="store_true", help="partitioners against time and bytes instead")
    options = parser.parse_args()
    until_s = time.monotonic() + 60 * options.minutes
    if options.partitions:
        results_partitions.run(RESULTS, options.root, 0.0 if options.page else until_s)
        return
    kept = Kept(RESULTS)
    if not options.page:
        complete(kept, options.root, until_s)
    (RESULTS / "strategies.md").write_text(report(kept))


if __name__ == "__main__":
    main()
