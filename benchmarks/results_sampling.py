"""Test accuracy after training by each sampler, beside the full batch; kept run by run, so that it may be interrupted.

    python -m benchmarks.results_sampling                # what is missing of all runs, then the table
    python -m benchmarks.results_sampling --table        # the table of what there is

GraphSAGE (means) and GCN of 16 hidden channels on the public splits (Kipf & Welling's hyperparameters, fewer epochs),
the same for all; accuracy by exact inference over the whole graph after the last epoch. Cora with 10 values of
rng_seed, PubMed with 3. The bound of a point is GraphSAGE's: a mean over sampled neighbours stands for the mean over
all of them, while GCN divides by the degrees that it finds in the batch, which are too small where the batch ends.
Writes a file of runs under ``docs/results/sampling_accuracy`` after every run, and the page beside it at the end.
"""

from __future__ import annotations

import argparse
import itertools
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
MODELS = {"sage": "GraphSAGE", "gcn": "GCN"}
BOUND_MODEL = "sage"
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


def measure(graph: Graph, model: str, name: str, rng_seed: int, **changes: Any) -> Entry:
    """Train once and return what is kept of it."""
    keywords = samplers_for(graph)[name]
    strategy = "mini_batch" if keywords else "full_graph"
    resolved = resolve(
        graph, model, strategy, **{**TRAINING, **OF_TRAINING, **keywords, **changes, "rng_seed": rng_seed}
    )
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), timeout_s=3600.0)
    last = run.told("epoch_finished")[-1]
    return {
        "model": model,
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
    """The runs of a model on a data set, in a file that is whole after every run."""

    def __init__(self, folder: Path, model: str, dataset: str) -> None:
        self.model, self.dataset = model, dataset
        self.path = folder / "sampling_accuracy" / f"{model}_{dataset}.json"
        self.runs: list[Entry] = json.loads(self.path.read_text())["runs"] if self.path.exists() else []

    def has(self, name: str, rng_seed: int) -> bool:
        return any((run["sampler"], run["rng_seed"]) == (name, rng_seed) for run in self.runs)

    def add(self, run: Entry) -> None:
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".part")
        aside.write_text(json.dumps({"training": TRAINING, "runs": self.runs}, indent=1) + "\n")
        aside.replace(self.path)

    def accuracies(self, name: str) -> list[float]:
        """Return test accuracies in percent."""
        return [100 * run["test_accuracy"] for run in self.runs if run["sampler"] == name]

    def gap(self, name: str) -> float:
        """Return the mean distance to the full batch of the same rng_seed, in points."""
        whole = {run["rng_seed"]: run["test_accuracy"] for run in self.runs if run["sampler"] == "full batch"}
        own = {run["rng_seed"]: run["test_accuracy"] for run in self.runs if run["sampler"] == name}
        return 100 * statistics.mean(own[rng_seed] - whole[rng_seed] for rng_seed in own.keys() & whole.keys())

    def cells(self, name: str) -> list[str]:
        """Return mean and deviation, number of runs, and the distance to the full batch."""
        values = self.accuracies(name)
        if not values:
            return ["", "", ""]
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return [f"{statistics.mean(values):.1f}{spread}", str(len(values)), f"{self.gap(name):+.1f}"]

    def missed(self) -> list[str]:
        """Return what is farther below the full batch than it may be, once all of its runs are there."""
        whole, wanted = self.accuracies("full batch"), NUM_SEEDS[self.dataset]
        complete = [name for name in BOUND if len(self.accuracies(name)) == len(whole) == wanted]
        below = {name: -self.gap(name) for name in complete}
        return [f"{name} on {self.dataset}: {gap:.1f} points" for name, gap in below.items() if gap > WITHIN_POINTS]


def table(columns: list[Results]) -> str:
    """Return the means of a model as Markdown: a row a sampler, the data sets side by side."""
    columns = [results for results in columns if results.accuracies("full batch")]
    heads = [f"{results.dataset} | runs | to full batch" for results in columns]
    lines = [f"| sampler | {' | '.join(heads)} |", "|---" * (1 + 3 * len(columns)) + "|"]
    for name in dict.fromkeys(run["sampler"] for results in columns for run in results.runs):
        cells = [cell for results in columns for cell in results.cells(name)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def report(found: list[Results]) -> str:
    """Return the page that is kept beside the runs."""
    settings = ", ".join(f"{key} {value}" for key, value in TRAINING.items())
    loads = [run["load"] for results in found for run in results.runs]
    tables = [
        f"## {title}\n\n{table([results for results in found if results.model == model])}\n"
        for model, title in MODELS.items()
        if any(results.model == model and results.runs for results in found)
    ]
    return "\n".join(
        [
            "# Accuracy after training by each sampler\n",
            "Test accuracy in percent, mean and standard deviation over values of `rng_seed`, by exact inference over",
            f"the whole graph after the last epoch, on the public splits. Every run: {settings}.\n",
            *tables,
            "GCN divides by the degrees that it finds in a batch: at nodes whose in-edges the batch lacks they are too",
            "small, and what is trained so is evaluated with the true ones. Means (GraphSAGE) do not have this.\n",
            "Written by `python -m benchmarks.results_sampling` from the runs in `sampling_accuracy/`, which have",
            f"their keywords. Load of the machine (2 cores) meanwhile: {min(loads):.0f} to {max(loads):.0f}.",
            "It changes the seconds of the runs, not their accuracies.\n",
        ]
    )


def complete(results: Results, root: str | None) -> None:
    """Measure what is missing: first what is bound, one value of rng_seed after another."""
    graph = datasets.load(results.dataset, root=root)
    first = ["full batch", *BOUND]
    for names in (first, [name for name in samplers_for(graph) if name not in first]):
        for rng_seed, name in itertools.product(range(NUM_SEEDS[results.dataset]), names):
            if not results.has(name, rng_seed):
                run = measure(graph, results.model, name, rng_seed)
                results.add(run)
                print(*(run[key] for key in ("model", "dataset", "sampler", "rng_seed", "test_accuracy")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(NUM_SEEDS))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--root", default=os.environ.get("WORKBENCH_DATA"), help="folder of the data sets")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    found = [Results(RESULTS, model, dataset) for model in MODELS for dataset in NUM_SEEDS]
    for results in found:
        if not options.table and results.model in options.models and results.dataset in options.datasets:
            complete(results, options.root)
    page = report([Results(RESULTS, model, dataset) for model in MODELS for dataset in NUM_SEEDS])
    (RESULTS / "sampling_accuracy.md").write_text(page)
    print(page)
    missed = [text for results in found if results.model == BOUND_MODEL for text in results.missed()]
    if missed:
        raise SystemExit("below the full batch: " + "; ".join(missed))


if __name__ == "__main__":
    main()
