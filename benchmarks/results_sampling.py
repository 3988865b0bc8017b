"""Test accuracy after training by each sampler, beside the full batch; kept run by run, so that it may be interrupted.

    python -m benchmarks.results_sampling                # what is missing of all runs, then the table
    python -m benchmarks.results_sampling --table        # the table of what there is

A GCN of 16 hidden channels on the public splits (Kipf & Welling's hyperparameters, fewer epochs), the same for all;
accuracy by exact inference over the whole graph after the last epoch. Cora with 10 values of rng_seed, PubMed with 3.
Writes ``docs/results/sampling_accuracy.json`` after every run and ``sampling_accuracy.md`` at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.graph import Graph, datasets
from workbench.testing.rank_context import train_here
from workbench.train import resolve

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NUM_SEEDS = {"cora": 10, "pubmed": 3}
TRAINING = {"hidden_channels": 16, "dropout": 0.5, "lr": 0.01, "weight_decay": 5e-4, "epochs": 100}
OF_TRAINING = {"evaluate_every": 0, "checkpoint_every": 0}
WITHIN_POINTS = 1.0
BOUND = ("neighbor", "labor", "cluster", "shadow")  # those that must come as near to the full batch as that
Entry = dict[str, Any]


def samplers_for(graph: Graph) -> dict[str, Entry]:
    """Return each sampler's keywords under its name in the table; sizes grow with the graph."""
    share = graph.num_nodes // 4
    return {
        "full batch": {},
        "neighbor": {"sampler": "neighbor", "fanouts": (25, 10)},
        "labor": {"sampler": "labor", "fanouts": (25, 10)},
        "cluster": {"sampler": "cluster", "num_clusters": 10, "clusters_per_batch": 5},
        "shadow": {"sampler": "shadow", "num_hops": 2, "fanout": 10},
        "full": {"sampler": "full", "num_hops": 2},
        "layer_wise (LADIES)": {"sampler": "layer_wise", "layer_sizes": (512, 512)},
        "layer_wise (FastGCN)": {"sampler": "layer_wise", "layer_sizes": (1024, 1024), "importance": "fastgcn"},
        "saint_node": {"sampler": "saint_node", "num_draws": 2 * share},
        "saint_edge": {"sampler": "saint_edge", "num_draws": share},
        "saint_walk": {"sampler": "saint_walk", "num_roots": share, "walk_length": 2},
    }


def measure(graph: Graph, name: str, rng_seed: int, **changes: Any) -> Entry:
    """Train once and return what is kept of it."""
    keywords = samplers_for(graph)[name]
    strategy = "mini_batch" if keywords else "full_graph"
    resolved = resolve(
        graph, "gcn", strategy, **{**TRAINING, **OF_TRAINING, **keywords, **changes, "rng_seed": rng_seed}
    )
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), timeout_s=3600.0)
    last = run.told("epoch_finished")[-1]
    return {
        "dataset": graph.name,
        "sampler": name,
        "keywords": keywords,
        "rng_seed": rng_seed,
        "epochs": last["epoch"],
        "steps": last["step"],
        "test_accuracy": last["metrics"]["test_accuracy"],
        "val_accuracy": last["metrics"]["val_accuracy"],
        "train_loss": last["train_loss"],
        "elapsed_s": round(time.perf_counter() - start, 1),
        "load": round(os.getloadavg()[0], 1),
    }


class Results:
    """The runs that were measured, in a file that is whole after every run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sampling_accuracy.json"
        self.runs: list[Entry] = json.loads(self.path.read_text())["runs"] if self.path.exists() else []

    def has(self, dataset: str, name: str, rng_seed: int) -> bool:
        wanted = (dataset, name, rng_seed)
        return any((run["dataset"], run["sampler"], run["rng_seed"]) == wanted for run in self.runs)

    def add(self, run: Entry) -> None:
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".part")
        aside.write_text(json.dumps({"training": TRAINING, "runs": self.runs}, indent=1) + "\n")
        aside.replace(self.path)

    def accuracies(self, dataset: str, name: str) -> list[float]:
        """Return test accuracies in percent."""
        return [100 * run["test_accuracy"] for run in self.runs if (run["dataset"], run["sampler"]) == (dataset, name)]

    def table(self) -> str:
        """Return the means as Markdown, a row a sampler."""
        shown = [dataset for dataset in NUM_SEEDS if self.accuracies(dataset, "full batch")]
        heads = [f"{dataset} ({len(self.accuracies(dataset, 'full batch'))} runs) | to full batch" for dataset in shown]
        lines = [f"| sampler | {' | '.join(heads)} |", "|---" * (1 + 2 * len(shown)) + "|"]
        for name in dict.fromkeys(run["sampler"] for run in self.runs):
            cells = [cell for dataset in shown for cell in self._cells(dataset, name)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def _cells(self, dataset: str, name: str) -> list[str]:
        values = self.accuracies(dataset, name)
        if not values:
            return ["", ""]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        gap = statistics.mean(values) - statistics.mean(self.accuracies(dataset, "full batch"))
        return [f"{statistics.mean(values):.1f} ± {spread:.1f}", f"{gap:+.1f}"]

    def missed(self) -> list[str]:
        """Return what is farther from the full batch than it may be, once all of its runs are there."""
        found = []
        for dataset, num_seeds in NUM_SEEDS.items():
            whole = self.accuracies(dataset, "full batch")
            for name in BOUND:
                values = self.accuracies(dataset, name)
                if len(values) == len(whole) == num_seeds:
                    gap = statistics.mean(whole) - statistics.mean(values)
                    found += [f"{name} on {dataset}: {gap:.1f} points below"] if gap > WITHIN_POINTS else []
        return found


def report(results: Results) -> str:
    """Return the page that is kept beside the runs."""
    settings = ", ".join(f"{key} {value}" for key, value in TRAINING.items())
    loads = [run["load"] for run in results.runs]
    return (
        "# Accuracy after training by each sampler\n\n"
        "Test accuracy in percent, mean and standard deviation over values of `rng_seed`, by exact inference over the\n"
        f"whole graph after the last epoch. A GCN on the public splits: {settings}.\n\n"
        f"{results.table()}\n\n"
        f"Written by `python -m benchmarks.results_sampling` from `{results.path.name}`, which has every run with its\n"
        f"keywords. Load of the machine (2 cores) meanwhile: {min(loads):.0f} to {max(loads):.0f}. It changes the\n"
        "seconds of the runs, not their accuracies.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(NUM_SEEDS))
    parser.add_argument("--root", default=os.environ.get("WORKBENCH_DATA"), help="where the data sets lie")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    results = Results(RESULTS)
    for dataset in [] if options.table else options.datasets:
        graph = datasets.load(dataset, root=options.root)
        for rng_seed in range(NUM_SEEDS[dataset]):
            for name in samplers_for(graph):
                if not results.has(dataset, name, rng_seed):
                    results.add(measure(graph, name, rng_seed))
                    print({key: results.runs[-1][key] for key in ("dataset", "sampler", "rng_seed", "test_accuracy")})
    (RESULTS / "sampling_accuracy.md").write_text(report(results))
    print(results.table())
    if results.missed():
        raise SystemExit("; ".join(results.missed()))


if __name__ == "__main__":
    main()
