"""The runs behind docs/results/strategies.md: which there are, in which order, and how one is measured."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from workbench.core.rng import generator
from workbench.graph import Graph, datasets
from workbench.partition import partition
from workbench.testing.rank_context import train_here
from workbench.train import resolve

Entry = dict[str, Any]
QUIET = {"evaluate_every": 0, "checkpoint_every": 0}
KIPF = {"hidden_channels": 16, "dropout": 0.5, "lr": 0.01, "weight_decay": 5e-4, "epochs": 200}
VELICKOVIC = {
    **{"hidden_channels": 64, "heads": 8, "dropout": 0.6, "attention_dropout": 0.6},
    **{"lr": 0.005, "weight_decay": 5e-4, "epochs": 200},
}
FOR_PUBMED = {"gat": {"output_heads": 8, "lr": 0.01, "weight_decay": 1e-3}}
FEW_LABELS = {"sparse": True, "hidden_channels": 64, "dropout": 0.5, "lr": 0.005, "weight_decay": 5e-4}
STEPS = {"computers": 100, "cs": 30}  # one an epoch, but for cluster_batch, which takes five
MANY_LABELS = {"sparse": True, "hidden_channels": 128, "dropout": 0.5, "lr": 0.003, "epochs": 4}
WHOLE = ("full_graph", "halo_exchange")  # one step an epoch, however many training nodes
BY_STRATEGY: dict[str, Entry] = {
    "full_graph": {},
    "halo_exchange": {"trainers": 2},
    "mini_batch": {"fanouts": (25, 10)},
    "cluster_batch": {"num_clusters": 10, "clusters_per_batch": 5},
    "partitioned_mini_batch": {"fanouts": (25, 10), "trainers": 2},
}
NUM_CLUSTERS = 10  # of Cluster-GCN's table 2, one a step
RAW = {
    "computers": "amazon/Computers/raw/amazon_electronics_computers.npz",
    "cs": "coauthor/CS/raw/ms_academic_cs.npz",
}
NUM_SEEDS = {"cora": 10, "pubmed": 3, "computers": 3, "cs": 3, "debian": 1, "wordnet": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of a table: what is trained, how, and how often."""

    table: str
    dataset: str
    model: str
    row: str
    keywords: Entry = field(default_factory=dict)

    @property
    def strategy(self) -> str:
        return "cluster_batch" if self.table == "clusters" else self.row

    def key(self, rng_seed: int) -> tuple[Any, ...]:
        return (self.table, self.dataset, self.model, self.row, rng_seed)


def citations(dataset: str, model: str) -> list[Case]:
    """Return a model on a citation graph by each strategy, with the hyperparameters of its paper."""
    words = {"gcn": KIPF, "gat": VELICKOVIC}[model] | (FOR_PUBMED.get(model, {}) if dataset == "pubmed" else {})
    # A dropped attention weight belongs to an edge, so its mask cannot be keyed by node.
    masks = {"halo_exchange": {"dropout_masks": "drawn"}} if model == "gat" else {}
    return [
        Case(table="citations", dataset=dataset, model=model, row=row, keywords={**words, **own, **masks.get(row, {})})
        for row, own in BY_STRATEGY.items()
    ]


def clusters(dataset: str) -> list[Case]:
    """Return table 2 of Cluster-GCN: ten parts, one a step, drawn at random or by METIS."""
    words = {**KIPF, "clusters_per_batch": 1, "evaluate_every": 5}
    return [
        Case(table="clusters", dataset=dataset, model="gcn", row=row, keywords=words) for row in ("random", "metis")
    ]


def sage(dataset: str) -> list[Case]:
    """Return GraphSAGE by each strategy."""
    few = dataset in RAW
    words = FEW_LABELS | {"epochs": STEPS[dataset]} if few else MANY_LABELS
    own = {name: dict(keywords) for name, keywords in BY_STRATEGY.items()}
    for name in ("mini_batch", "partitioned_mini_batch"):
        own[name]["fanouts"] = (15, 10)
    own["cluster_batch"] = {"num_clusters": 50, "clusters_per_batch": 10} | (
        {"epochs": STEPS[dataset] // 5} if few else {}
    )
    for name in WHOLE:
        own[name] |= {} if few else {"epochs": 60}
    return [
        Case(table="sage", dataset=dataset, model="sage", row=row, keywords={**words, **own[row]})
        for row in BY_STRATEGY
    ]


# Cheap ones first: within a group one value of rng_seed after another.
GROUPS: tuple[tuple[Case, ...], ...] = (
    (*citations("cora", "gcn"), *clusters("cora")),
    tuple(clusters("pubmed")),
    tuple(citations("cora", "gat")),
    tuple(sage("computers")),
    tuple(citations("pubmed", "gcn")),
    tuple(sage("cs")),
    tuple(citations("pubmed", "gat")),
    tuple(sage("debian")),
    tuple(sage("wordnet")),
)


@functools.cache
def load(dataset: str, root: str | None, split: int = 0) -> Graph:
    """Return a graph; where the data have no split, one of 20 nodes a class to train and 30 to validate, by `split`."""
    if dataset not in RAW:
        if dataset in ("cora", "pubmed"):
            return datasets.load(dataset, root=root, normalize_features=True)
        return datasets.load(dataset)  # in the package
    if root is None:
        raise SystemExit(f"{dataset} needs the raw data sets: set WORKBENCH_DATA, or pass --root")
    with np.load(Path(root) / RAW[dataset]) as file:
        edges = sparse.csr_matrix((file["adj_data"], file["adj_indices"], file["adj_indptr"]), file["adj_shape"])
        x = sparse.csr_matrix((file["attr_data"], file["attr_indices"], file["attr_indptr"]), file["attr_shape"])
        labels = file["labels"]
    edges = (edges + edges.T).tocoo()
    apart = edges.row != edges.col
    train, val, test = [], [], []
    for label in np.unique(labels):
        nodes = generator(split, int(label)).permutation(np.flatnonzero(labels == label))
        train.append(nodes[:20])
        val.append(nodes[20:50])
        test.append(nodes[50:])
    splits = dict(zip(("train_nodes", "val_nodes", "test_nodes"), map(np.concatenate, (train, val, test)), strict=True))
    pairs = np.stack([edges.row[apart], edges.col[apart]])
    splits = {name: np.sort(nodes) for name, nodes in splits.items()}
    return Graph.from_edge_index(pairs, len(labels), x=x.astype(np.float32), y=labels, name=dataset, **splits)


def measure(case: Case, rng_seed: int, root: str | None, **changes: Any) -> Entry:
    """Train once and return what is kept of it."""
    graph = load(case.dataset, root, rng_seed if case.dataset in RAW else 0)
    keywords = {**case.keywords, **changes}
    made = {}
    if case.table == "clusters":
        made = {"partitioner": partition(graph, NUM_CLUSTERS, case.row, rng_seed=rng_seed)}
    resolved = resolve(graph, case.model, case.strategy, **{**QUIET, **keywords, **made, "rng_seed": rng_seed})
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), timeout_s=3600.0)
    measured = [epoch for epoch in run.told("epoch_finished") if epoch["metrics"]]
    num_edges = sum(step["num_edges"] for step in run.told("step_finished") if step["epoch"] == measured[-1]["epoch"])
    last, best = measured[-1], max(measured, key=lambda epoch: epoch["metrics"]["val_accuracy"])
    return {
        "table": case.table,
        "dataset": case.dataset,
        "model": case.model,
        "row": case.row,
        "rng_seed": rng_seed,
        "keywords": keywords,
        "steps": last["step"],
        "test_accuracy": last["metrics"]["test_accuracy"],
        "val_accuracy": last["metrics"]["val_accuracy"],
        "test_accuracy_at_best_val": best["metrics"]["test_accuracy"],
        "train_loss": last["train_loss"],
        "edges_of_last_epoch": round(num_edges / graph.num_edges, 3),
        "bytes_of_last_epoch": dict(last["bytes"]),
        "elapsed_s": round(time.perf_counter() - start, 1),
        "load": round(os.getloadavg()[0], 1),
    }
