"""A run as a script: what a person would write to train the same again, without a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.core.config import RunConfig
from workbench.core.errors import Findings
from workbench.runtime.function_call import FUNCTION
from workbench.runtime.run_folder import RunFolder

_OF_THE_CLUSTER = ("trainers", "samplers")
_SETTINGS = (
    *("epochs", "trainers", "samplers", "optimizer", "lr", "weight_decay", "threads_per_trainer"),
    *("evaluate_every", "checkpoint_every", "rng_seed", "name"),
)


def script_of(folder: RunFolder) -> str:
    """Return the text of a Python script that launches a run's configuration again and waits for its end.

    It opens the graph where the run found it and checks its fingerprint. A model of the user's is there as the source
    of its class, where that could be had, for the reader to complete.

    Raises
    ------
    InputError
        Where the run called a function: what that did lies in no configuration.
    """
    config = folder.config
    if config.strategy.name == FUNCTION:
        findings = Findings(f"export_script({folder.id!r})")
        findings.add("run", "a run that launch started", "one of run_function", "keep the function in a module")
        findings.raise_if_any()
    model, source = _model(config, folder.path)
    keywords = _keywords(config)
    lines = "".join(f"    {name}={value!r},\n" for name, value in keywords.items())
    size = ", ".join(f"{name}={getattr(config, name)}" for name in _OF_THE_CLUSTER)
    return (
        f'"""{folder.record["summary"]}: the run {folder.id} as a script."""\n\n'
        f"import workbench as wb\n\n{source}"
        f"graph = wb.Graph.open({config.graph.folder!r})  # {config.graph.name}\n"
        f'if graph.fingerprint != "{config.graph.fingerprint}":\n'
        '    raise SystemExit("this is another graph than the run had")\n\n'
        f"session = wb.connect({size})\n"
        f"run = session.launch(\n    graph,\n    model={model},\n    strategy={config.strategy.name!r},\n{lines})\n"
        "run.wait()\nprint(run)\nprint(run.history.to_string(index=False))\n"
    )


def _keywords(config: RunConfig) -> dict[str, Any]:
    """Return the keywords of launch: those of every chosen part, then those of the run."""
    words: dict[str, Any] = {}
    params = dict(config.strategy.params)
    for name, value in list(params.items()):
        if isinstance(value, Mapping) and set(value) == {
            "name",
            "params",
        }:  # a part of the strategy's: a sampler, a store
            words[name] = value["name"]
            words |= {key: _plain(item) for key, item in value["params"].items()}
            del params[name]
    words |= {name: _plain(value) for name, value in params.items()}
    if config.model.name != "custom":
        words |= {name: _plain(value) for name, value in config.model.params.items()}
    for kind in ("update", "task"):
        choice = getattr(config, kind)
        words[kind] = choice.name
        words |= {name: _plain(value) for name, value in choice.params.items()}
    return words | {name: getattr(config, name) for name in _SETTINGS}


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _model(config: RunConfig, folder: Path) -> tuple[str, str]:
    """Return how the model is given to launch, and the source that has to stand above it."""
    if config.model.name != "custom":
        return repr(config.model.name), ""
    name = str(config.model.params.get("class", "Model")).rpartition(".")[2]
    path = folder / "model_source.txt"
    text = path.read_text() if path.is_file() else f"class {name}:  # its source could not be had\n    ...\n"
    note = (
        f"# The run's model, as far as its source could be had: add its imports, and build it as you did for the run.\n"
        f"{textwrap.dedent(text).rstrip()}\n\n\n"
    )
    return f"{name}()", note
