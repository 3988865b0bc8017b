"""Whether strategies compute what one process computes on the whole graph: tried on a person's own model and graph."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.core.errors import Findings, InputError
from workbench.core.given import require_graph
from workbench.models import MODELS
from workbench.train.base import STRATEGIES, TASKS, Strategy, Task
from workbench.train.config import resolve
from workbench.train.exactness import EXPECTED
from workbench.train.parity_ranks import Measured, measure_ranks, measure_whole
from workbench.train.parity_report import ParityReport, ParityRow
from workbench.train.seeding import seed_build
from workbench.train.trace import first_difference

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.config import Model, ResolvedRun


def check_parity(
    graph: Graph,
    model: Model = "sage",
    strategies: str | Strategy | Sequence[str | Strategy] = ("halo_exchange",),
    num_parts: int = 2,
    *,
    tolerance: float = 1e-10,
    **keywords: Any,
) -> ParityReport:
    """Compare strategies on `num_parts` ranks with one forward and backward over the whole graph.

    The ranks are threads of this process: no cluster is needed. Everything is computed in double precision at the
    model's first weights: the mean loss of an epoch and its gradients with the model in training (BatchNorm by batch
    statistics, dropout left out), and the predictions with the model in evaluation. A difference is exact where it
    stays within ``tolerance * max(1, largest value)``. A strategy that samples is no exact one, and the report says by
    how much. With ``fanouts=(-1, -1)`` and a model without BatchNorm it is, if no layer reads degrees: those at the
    rim of a batch are the batch's (GCN, SGC, ChebNet: one hop more).

    Parameters
    ----------
    graph : Graph
        Small enough for several forwards over all of it in memory.
    model : str, ModelSpec, torch.nn.Module or factory
        As in ``launch``; it is neither changed nor trained.
    strategies : str, Strategy or sequence of them
    num_parts : int
        Ranks of each strategy; ``full_graph`` takes one.
    tolerance : float
        At least 0.
    **keywords
        As in ``launch``: ``partition="random"``, ``batch_size=``, ``hidden_channels=``, ...; each strategy takes those
        that it has.

    Returns
    -------
    ParityReport
        One row a strategy; ``.ok`` where all are exact. It shows itself as a table.

    Raises
    ------
    InputError
        Where no strategy takes a keyword, graph and model do not go together, or the task is not one of nodes.
    """
    require_graph(graph, "check_parity")
    strategies = (strategies,) if isinstance(strategies, str | Strategy) else strategies
    _check(strategies, tolerance, keywords)
    names = [choice if isinstance(choice, str) else STRATEGIES.name_of(choice) for choice in strategies]
    reference: Measured | None = None
    rows = []
    for name, choice in zip(names, strategies, strict=True):
        trainers = 1 if name == "full_graph" else num_parts
        try:
            chosen, words = _without_masks(choice), _words(name, keywords, names)
            if isinstance(chosen, str) and _has_masks(name):
                words["dropout_masks"] = "drawn"
            resolved = resolve(graph, model, chosen, trainers=trainers, epochs=1, **words)
        except InputError as error:
            if any(finding.expected != EXPECTED for finding in error.findings):
                raise
            rows.append(ParityRow.refused(name, trainers, error))
            continue
        base, task = _module(resolved, graph), TASKS.from_dict(resolved.config.task.to_json())
        _check_task(task, resolved.config.task.name)
        reference = reference or measure_whole(base, graph, task)
        rows.append(_compare(name, resolved, base, graph, reference, tolerance))
    return ParityReport(graph=graph.name, model=_name_of(model), tolerance=tolerance, rows=tuple(rows))


def _check(strategies: Sequence[str | Strategy], tolerance: float, keywords: dict[str, Any]) -> None:
    findings = Findings("check_parity")
    if not strategies:
        findings.add("strategies", "one strategy or more", "none", "strategies=('halo_exchange',), for example")
    if not tolerance >= 0:
        findings.add("tolerance", "at least 0", tolerance, "leave it out: 1e-10 is what rounding takes")
    if "trainers" in keywords:
        findings.add("trainers", "num_parts, the ranks of each strategy", keywords["trainers"], "pass num_parts=")
    if "epochs" in keywords:
        findings.add("epochs", "nothing: one epoch is compared", keywords["epochs"], "remove epochs=")
    if "dropout_masks" in keywords:
        expected = "nothing: dropout is left out of the comparison"
        findings.add("dropout_masks", expected, keywords["dropout_masks"], "remove dropout_masks=")
    findings.raise_if_any()


def _check_task(task: Task, name: str) -> None:
    if task.unit != "node":
        findings = Findings("check_parity")
        fix = "compare the model on a task of nodes: task='node_classification' and targets for them"
        findings.add("task", "one with a target for each node", f"{name!r}, of {task.unit}s", fix)
        findings.raise_if_any()


def _words(name: str, keywords: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the keywords of one strategy: without those that only another of the list takes."""
    others = set().union(*(_takes(other, keywords) for other in names)) - _takes(name, keywords)
    return {key: value for key, value in keywords.items() if key not in others}


def _has_masks(name: str) -> bool:
    return any(info.name == "dropout_masks" for info in STRATEGIES.entry(name).params)


def _without_masks(choice: str | Strategy) -> str | Strategy:
    """Return a strategy that leaves dropout to PyTorch, from where it is left out."""
    changed: dict[str, Any] = {"dropout_masks": "drawn"} if hasattr(choice, "dropout_masks") else {}
    return choice if isinstance(choice, str) else replace(choice, **changed)


def _takes(name: str, keywords: dict[str, Any]) -> set[str]:
    """Return every keyword that a strategy takes, itself or through what is chosen in it."""
    factory = STRATEGIES.entry(name).factory
    defaults = {info.name: info.default for info in factory.describe()}
    known = set(defaults)
    for part, registry in factory.parts.items():
        choice = keywords.get(part, defaults[part])
        if isinstance(choice, str):
            known |= {info.name for info in registry.entry(choice).params}
    return known


def _module(resolved: ResolvedRun, graph: Graph) -> nn.Module:
    """Return the run's module with its first weights, in double precision."""
    config = resolved.config
    if resolved.module is not None:
        return copy.deepcopy(resolved.module).double()
    spec, task = MODELS.from_dict(config.model.to_json()), TASKS.from_dict(config.task.to_json())
    with torch.random.fork_rng(devices=[]):
        seed_build(config.rng_seed)
        return spec.build(graph.num_features, task.num_outputs(graph)).double()


def _name_of(model: Any) -> str:
    return model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)


def _compare(
    name: str, resolved: ResolvedRun, base: nn.Module, graph: Graph, expected: Measured, tolerance: float
) -> ParityRow:
    found = measure_ranks(resolved.config, base, graph)
    differences = {
        "loss": abs(found[0].loss - expected.loss) / max(1.0, abs(expected.loss)),
        "gradients": max((_difference(a, b) for a, b in _pairs(expected, found[0])), default=0.0),
        "predictions": _difference(expected.predictions, found[0].predictions),
    }
    exact = all(value <= tolerance for value in differences.values())
    return ParityRow(
        strategy=name,
        num_parts=len(found),
        verdict="exact" if exact else "differs",
        where="" if exact else _first_difference(base, expected, found),
        **differences,
    )


def _pairs(expected: Measured, found: Measured) -> list[tuple[Tensor, Tensor]]:
    return list(zip(expected.gradients, found.gradients, strict=True))


def _difference(expected: Tensor, found: Tensor) -> float:
    """Return the largest difference over the largest value, where that is above 1."""
    if not expected.numel():
        return 0.0
    difference = (expected - found).abs().max().item() / max(1.0, expected.abs().max().item())
    return math.inf if math.isnan(difference) else difference


def _first_difference(module: nn.Module, expected: Measured, found: list[Measured]) -> str:
    node_ids = [rank.node_ids for rank in found if rank.node_ids is not None]
    if len(node_ids) < len(found):
        return "computes other rows than one a node"
    traces = [rank.trace for rank in found]
    return first_difference(module, expected.trace, traces, node_ids) or "none in its forward: the gradients alone"
