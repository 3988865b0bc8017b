"""A model as the user passes it: a module or a factory, looked at before anything is started."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.models import FORWARD_NAMES, ModelInputs, call_model, forward_names
from workbench.train.seeding import seed_build
from workbench.train.whole import ATTRIBUTES, WEIGHT

if TYPE_CHECKING:
    from workbench.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A user's module after one small forward: a copy, its lazy layers made, and its message-passing calls counted."""

    module: nn.Module
    num_propagations: int


def make_module(
    model: nn.Module | Callable[[int, int], Any], in_channels: int, out_channels: int, rng_seed: int, findings: Findings
) -> nn.Module | None:
    """Return a copy of a module, or what a factory makes with weights drawn from `rng_seed`."""
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        seed_build(rng_seed)
        try:
            module = model(in_channels, out_channels)
        except Exception as error:  # the user's own code: whatever it raises is told
            got = f"{type(error).__name__}: {error}"
            findings.add("model", "a factory f(in_channels, out_channels)", got, "mend the factory")
            return None
    if not isinstance(module, nn.Module):
        findings.add("model", "a factory that returns a torch.nn.Module", type(module).__name__, "return the module")
        return None
    return module


def try_module(
    module: nn.Module,
    graph: Graph,
    *,
    out_channels: int,
    rng_seed: int,
    findings: Findings,
    batch: Tensor | None = None,
    num_rows: int = 3,
) -> Tried | None:
    """Run a module once on three nodes in evaluation mode, and note what does not fit.

    `batch` is what it is given as such, `num_rows` how many rows its output must have.
    """
    in_channels = graph.num_features
    if not _takes_what_is_there(module, graph, batch is not None, findings):
        return None
    from workbench.train.boundary import CallCounter, attached  # PyG takes seconds to import: only for a user's module

    counter, was_training = CallCounter(), module.training
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), attached(module, counter):
            seed_build(rng_seed)
            output = call_model(module.eval(), dataclasses.replace(_tiny_inputs(module, graph), batch=batch))
    except Exception as error:  # the user's own code: whatever it raises is told
        got = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        fix = f"build it with in_channels={in_channels}, and try it on graph.to_pyg() first"
        findings.add("model", f"a forward that runs on x of {in_channels} columns", got, fix)
        return None
    finally:
        module.train(was_training)
        _forget_graphs(module)
    if not isinstance(output, Tensor) or tuple(output.shape) != (num_rows, out_channels):
        got = str(tuple(output.shape)) if isinstance(output, Tensor) else type(output).__name__
        unit = "node" if num_rows == 3 else "graph"
        fix = f"build it with out_channels={out_channels}, and return one row a {unit}"
        findings.add("model", f"an output of shape (num_{unit}s, {out_channels})", f"{got} for 3 nodes", fix)
        return None
    return Tried(module=module, num_propagations=counter.num_calls)


def _forget_graphs(module: nn.Module) -> None:
    """Empty what layers with ``cached=True`` keep of the first graph they see: here three nodes, or a person's own."""
    for layer in module.modules():
        values = vars(layer)
        values.update({name: None for name in values if name.startswith("_cached_")})


def _takes_what_is_there(module: nn.Module, graph: Graph, has_batch: bool, findings: Findings) -> bool:
    taken, unknown = forward_names(module)
    for name in unknown:
        fix = f"rename {name}, or give it a default"
        findings.add(f"model.forward({name})", f"arguments named any of {', '.join(FORWARD_NAMES)}", name, fix)
    columns = {"edge_weight": WEIGHT, "edge_attr": ATTRIBUTES}
    there = {
        "x",
        "edge_index",
        *(["batch"] if has_batch else []),
        *(name for name, column in columns.items() if column in graph.edge_data),
    }
    parameters = inspect.signature(module.forward).parameters
    missing = [name for name in taken if name not in there and parameters[name].default is inspect.Parameter.empty]
    for name in missing:
        data = f"edge_data={{{columns[name]!r}: ...}}" if name in columns else "task='graph_classification'"
        fix = f"give the graph {data}, or write {name}=None in forward"
        findings.add(f"model.forward({name})", f"a graph that has {name}", "a graph without", fix)
    return not unknown and not missing


def _tiny_inputs(module: nn.Module, graph: Graph) -> ModelInputs:
    """Return three nodes in a ring with one edge more; all values are one."""
    made = (p.dtype for p in module.parameters() if not isinstance(p, nn.UninitializedParameter))
    dtype = next(made, torch.float32)
    edge_index = torch.tensor([[0, 1, 2, 1], [1, 2, 0, 0]])

    def ones(column: str) -> Tensor | None:
        values = graph.edge_data.get(column)
        return None if values is None else torch.ones(edge_index.shape[1], *values.shape[1:], dtype=dtype)

    x = torch.ones(3, graph.num_features, dtype=dtype)
    return ModelInputs(x=x, edge_index=edge_index, edge_weight=ones(WEIGHT), edge_attr=ones(ATTRIBUTES))
