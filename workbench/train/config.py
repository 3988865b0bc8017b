"""From the flat keywords of a launch to one decided run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from workbench.core.config import Choice, GraphRef, RunConfig
from workbench.core.errors import Finding, Findings
from workbench.core.given import require_graph
from workbench.core.params import Params
from workbench.graph import Graph
from workbench.models import MODELS, ModelSpec
from workbench.partition import PARTITIONERS, Partition
from workbench.train.base import STRATEGIES, TASKS, UPDATES, Strategy, Task, Update
from workbench.train.build import CUSTOM
from workbench.train.choose_task import DEFAULT, check_together, fitting_task
from workbench.train.keywords import Part, choose, parts_of_strategy, route, settings_part
from workbench.train.partitioned import check_partition, record_parts
from workbench.train.settings import RunSettings
from workbench.train.user_module import Tried, make_module, try_module

if TYPE_CHECKING:
    from workbench.core.registry import Registry

_PROCESSES = {"trainers": 1, "samplers": 0}
Model = str | ModelSpec | nn.Module | Callable[[int, int], nn.Module]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRun:
    """A run that can be started.

    Parameters
    ----------
    config : RunConfig
        Everything that decides its result; ``config.graph.folder`` is where ranks open the graph.
    module : torch.nn.Module, optional
        The user's own module (a copy, with the weights to start from), where the model has no name: to be saved by
        :func:`workbench.models.save_module` into the run's folder.
    warnings : tuple of Finding
        Remarks for the person who launches; nothing is wrong enough to refuse the run.
    """

    config: RunConfig
    module: nn.Module | None = None
    warnings: tuple[Finding, ...] = ()

    @property
    def summary(self) -> str:
        """One line: model, strategy with its sampler, batch size, trainers, samplers."""
        return summarise(self.config)


def resolve(graph: Graph, model: Model, strategy: str | Strategy = "mini_batch", **keywords: Any) -> ResolvedRun:
    """Decide a run from the flat keywords of ``launch``.

    Every keyword goes to the one part that takes it: run settings (``epochs, trainers, samplers, lr, optimizer,
    weight_decay, evaluate_every, ...``), strategy (``batch_size``), sampler (``fanouts``), model (``hidden_channels``),
    task and update rule. The graph is stored, so that other processes can map it. Without ``task=`` it is the one that
    the graph's targets stand for (:func:`workbench.train.choose_task.fitting_task`); the configuration records it.

    Parameters
    ----------
    graph : Graph
    model : str, ModelSpec, torch.nn.Module or factory
        A registry name, an object of the registry, a module (its weights are the start), or ``f(in_channels,
        out_channels)`` that returns a module.
    strategy : str or Strategy
    **keywords
        Also ``update=``, ``task=``, ``sampler=``, ``store=``: names or objects.

    Raises
    ------
    InputError
        All faults at once: unknown, unused or ambiguous keywords, values out of range, and what the graph lacks.
    """
    require_graph(graph, "launch")
    findings, words = Findings("launch"), dict(keywords)
    words.setdefault("task", fitting_task(graph) or DEFAULT)
    parts = _choose_parts(model, strategy, words, findings)
    if "strategy" not in parts:
        findings.raise_if_any()  # which keywords are right depends on it
    route(parts, parts["strategy"], words, findings)
    built: dict[str, Any] = {name: part.build(findings) for name, part in parts.items()}
    tried = _check(graph, model, parts, built, findings)
    findings.raise_if_any()
    spec = cast("ModelSpec | None", built.get("model"))
    _check_model(graph, built, tried, findings)
    depth = spec.num_propagations if spec is not None else cast("Tried", tried).num_propagations
    _compare_depth(built.get("sampler"), depth, findings)
    config = _config(graph, parts, built, tried)
    return ResolvedRun(config=config, module=tried.module if tried else None, warnings=tuple(findings.items))


def _check(
    graph: Graph, model: Model, parts: Mapping[str, Part], built: Mapping[str, Any], findings: Findings
) -> Tried | None:
    """Note what does not fit together; return a model of the user's, tried, if there is one and it works."""
    task, strategy = cast("Task | None", built.get("task")), cast("Strategy | None", built.get("strategy"))
    num_errors, tried = len(findings.errors), None
    _check_graph(graph, task, findings)
    if task is not None and len(findings.errors) == num_errors and "model" not in parts:
        settings = cast("RunSettings | None", built["run"])
        tried = _try_user_module(graph, model, task, settings.rng_seed if settings else 0, findings)
    if isinstance(spec := built.get("model"), ModelSpec):
        spec.check(graph, findings)
    if strategy is not None:
        wanted = {name: _number(parts["run"].keywords.get(name), default) for name, default in _PROCESSES.items()}
        strategy.check(graph, **wanted, findings=findings)
        if (update := cast("Update | None", built.get("update"))) is not None:
            update.check(strategy, trainers=wanted["trainers"], findings=findings)
        if (sampler := built.get("sampler", getattr(strategy, "sampler", None))) is not None:
            strategy.check_sampler(sampler, findings)
        if task is not None:
            check_together(task, strategy, built.get("sampler", getattr(strategy, "sampler", None)), findings)
        if (choice := _partition_of(strategy, parts, built)) is not None:
            check_partition(graph, choice, strategy.count_parts(wanted["trainers"]), findings, per=strategy.part_owner)
        _refuse_caches(tried, strategy, task, findings)
    return tried


def _check_model(graph: Graph, built: Mapping[str, Any], tried: Tried | None, findings: Findings) -> None:
    def make() -> nn.Module:
        if tried is not None:
            return tried.module
        spec, task = cast("ModelSpec", built["model"]), cast("Task", built["task"])
        return spec.build(graph.num_features, task.num_outputs(graph))

    with torch.random.fork_rng(devices=[]):
        built["strategy"].check_model(make, graph, trainers=built["run"].trainers, findings=findings)
    findings.raise_if_any()


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) else default  # what is no number is a finding of its own


def _choose_parts(model: Model, strategy: str | Strategy, words: dict[str, Any], findings: Findings) -> dict[str, Part]:
    """Return the parts by name; the model is left out where it is the user's own."""
    chosen: dict[str, Part | None] = {"run": settings_part(), "strategy": choose(STRATEGIES, strategy, findings)}
    if isinstance(model, str | ModelSpec):
        chosen["model"] = choose(MODELS, model, findings)
    elif not callable(model):
        expected = "a name, a torch.nn.Module or a factory f(in_channels, out_channels)"
        findings.add("model", expected, type(model).__name__, "pass model='sage', for example")
    chosen["update"] = choose(UPDATES, words.pop("update", "all_reduce"), findings)
    chosen["task"] = choose(TASKS, words.pop("task"), findings)
    parts = {name: part for name, part in chosen.items() if part is not None}
    if "strategy" in parts:
        parts |= parts_of_strategy(parts["strategy"], words, findings)
    return parts


def _check_graph(graph: Graph, task: Task | None, findings: Findings) -> None:
    if graph.x is None or graph.num_features == 0:
        fix = "pass x= to the graph's constructor, or graph.with_data(x=...), e.g. degrees or one-hot ids"
        findings.add("graph.x", "features of nodes (num_nodes, num_features)", "none", fix)
    if task is not None:
        task.check(graph, findings)


def _try_user_module(graph: Graph, model: Any, task: Task, rng_seed: int, findings: Findings) -> Tried | None:
    if not callable(model):
        return None
    num_outputs = task.num_outputs(graph)
    module = make_module(model, graph.num_features, num_outputs, rng_seed, findings)
    if module is None:
        return None
    trial = task.trial(module)
    return try_module(module, graph, out_channels=num_outputs, rng_seed=rng_seed, findings=findings, **trial)


def _refuse_caches(tried: Tried | None, strategy: Strategy, task: Task | None, findings: Findings) -> None:
    """Note layers that keep the first graph they see: right for one graph, silently wrong for sampled batches."""
    one_graph = "store" not in strategy.parts and (task is None or task.unit == "node")
    if tried is None or one_graph:  # else it reads features batch by batch, or its edges change from step to step
        return
    for name, layer in tried.module.named_modules():
        if getattr(layer, "cached", False) is True:
            got, fix = f"{type(layer).__name__}(cached=True)", "build it with cached=False, or use full_graph"
            findings.add(f"model.{name}", "layers that look at every batch anew", got, fix)


def _compare_depth(sampler: Params | None, num_propagations: int, findings: Findings) -> None:
    """Note where a sampler follows more or fewer hops than the model reads."""
    if not getattr(sampler, "is_by_hop", True):  # any layer may read any of its edges
        return
    fanouts = getattr(sampler, "fanouts", None)
    num_hops = len(fanouts) if fanouts is not None else getattr(sampler, "num_hops", num_propagations)
    if num_hops == num_propagations:
        return
    name = "fanouts" if fanouts is not None else "num_hops"
    effect = "the hops beyond are sampled for nothing" if num_hops > num_propagations else "outer layers see no edge"
    findings.add(
        name,
        f"{num_propagations} hops, one for each message-passing layer of the model",
        f"{num_hops} hops: {effect}",
        f"make {name} and the model's layers agree",
        severity="warning",
    )


def _config(graph: Graph, parts: Mapping[str, Part], built: Mapping[str, Any], tried: Tried | None) -> RunConfig:
    strategy, settings = cast("Strategy", built["strategy"]), cast("RunSettings", built["run"])
    params = strategy.to_dict()
    for name, registry in strategy.parts.items():
        chosen = built[name] if name in built else _own_part(registry, getattr(strategy, name))
        if registry is PARTITIONERS:
            params[name] = record_parts(graph, chosen, strategy.count_parts(settings.trainers))
        else:
            params[name] = registry.to_dict(chosen)
    if tried is None:
        model = _choice(MODELS, built["model"])
    else:
        model = Choice(name=CUSTOM, params=MappingProxyType({"class": type(tried.module).__qualname__}))
    return RunConfig(
        graph=_reference(graph),
        model=model,
        strategy=Choice(name=STRATEGIES.name_of(strategy), params=MappingProxyType(params)),
        update=_choice(UPDATES, cast("Update", built["update"])),
        task=_choice(TASKS, cast("Task", built["task"])),
        **{field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)},
    )


def _partition_of(strategy: Strategy, parts: Mapping[str, Part], built: Mapping[str, Any]) -> Any:
    """Return what was chosen as the strategy's partition, or None where it has none, or a fault is noted already."""
    for name, registry in strategy.parts.items():
        if registry is PARTITIONERS:
            return built.get(name) if parts["strategy"].given is None else _own_part(registry, getattr(strategy, name))
    return None


def _own_part(registry: Registry[Any], choice: Any) -> Any:
    """Return what an object of a strategy holds as one of its parts: a name, a description or an object."""
    if isinstance(choice, Partition) or (isinstance(choice, Mapping) and registry is PARTITIONERS):
        return choice
    return registry.from_dict(choice) if isinstance(choice, Mapping) else registry.create(choice)


def _choice(registry: Registry[Any], item: Any) -> Choice:
    record = registry.to_dict(item)
    return Choice(name=record["name"], params=MappingProxyType(record["params"]))


def _reference(graph: Graph) -> GraphRef:
    return GraphRef(
        folder=str(graph.store()),
        name=graph.name,
        fingerprint=graph.fingerprint,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        num_features=graph.num_features,
        num_classes=graph.num_classes,
    )


def summarise(config: RunConfig) -> str:
    """Return a run in one line: ``sage · mini_batch · neighbor (15, 10) · batch 1,024 · 2 trainers · 1 sampler``."""
    params = config.strategy.params
    words = [str(config.model.params.get("class", config.model.name)), config.strategy.name]
    if "sampler" in params:
        fanouts = params["sampler"]["params"].get("fanouts")
        words.append(params["sampler"]["name"] + (f" ({', '.join(map(str, fanouts))})" if fanouts else ""))
    if "partition" in params:
        words.append(str(params["partition"]["name"]))
    if "batch_size" in params:
        words.append(f"batch {params['batch_size']:,}")
    if "clusters_per_batch" in params:
        words.append(f"{params['clusters_per_batch']:,} of {params['num_clusters']:,} clusters")
    if config.update.name != "all_reduce":
        words.append(config.update.name)
    if config.task.name != DEFAULT:
        words.insert(2, config.task.name)
    words += [_counted(config.trainers, "trainer"), _counted(config.samplers, "sampler")]
    return " · ".join(words)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
