"""Every update rule trains by every strategy, or is refused at launch; what is saved is what was evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.train.test_tasks_by_strategy import CASES
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.models import call_model
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import STRATEGIES, UPDATES, ResolvedRun, resolve
from workbench.train.build import load_trained
from workbench.train.whole import whole_graph_inputs

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 2, "hidden_channels": 8, "dropout": 0.0, "lr": 0.02}
RULES: dict[str, dict[str, Any]] = {
    "all_reduce": {},
    "local_sgd": {"local_steps": 2},
    "parameter_server": {"staleness_bound": 1},
}


def test_every_rule_has_a_case() -> None:
    assert {entry.name for entry in UPDATES} == set(RULES)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("strategy", CASES)
def test_a_strategy_trains_by_a_rule_or_is_refused(strategy: str, rule: str, new_folder: NewFolder) -> None:
    graph = graphs.random(60, 200)
    update = UPDATES.create(rule, **RULES[rule])  # an object: some of its keywords are a strategy's too
    words = {**WORDS, **CASES[strategy], "update": update}
    if STRATEGIES.entry(strategy).factory.computes_together and rule != "all_reduce":
        with pytest.raises(InputError, match="by themselves"):
            resolve(graph, "sage", strategy, **words)
        return
    resolved = resolve(graph, "sage", strategy, **words)
    run = train_here(resolved, new_folder())
    assert np.isfinite(run.losses).all()
    for epoch in (1, 2):
        own = [step["num_seeds"] for step in run.told("step_finished") if step["epoch"] == epoch]
        assert sum(own) == len(graph.train_nodes)
    assert_model_is_the_one_evaluated(resolved, graph, run)


@pytest.mark.parametrize("rule", ["all_reduce", "local_sgd"])
def test_the_saved_statistics_are_those_that_were_evaluated(rule: str, new_folder: NewFolder) -> None:
    """BatchNorm's are each rank's own while it trains; evaluation and ``model.pt`` have their mean."""
    graph = graphs.random(60, 200)
    words = {**WORDS, **CASES["mini_batch"], "update": UPDATES.create(rule, **RULES[rule]), "norm": "batch"}
    resolved = resolve(graph, "sage", "mini_batch", **words)
    assert_model_is_the_one_evaluated(resolved, graph, train_here(resolved, new_folder()))


def assert_model_is_the_one_evaluated(resolved: ResolvedRun, graph: Graph, run: LocalRun) -> None:
    """Compare the exact predictions of a run with those of the model that it leaves."""
    model = load_trained(resolved.config, graph, run.folder)
    with torch.inference_mode():
        outputs = call_model(model, whole_graph_inputs(graph, torch.device("cpu"), torch.float32))
    assert np.allclose(np.load(run.folder / "predictions.npy"), outputs.numpy(), atol=1e-5)
