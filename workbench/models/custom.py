"""A module of the user's: how it travels. It goes by value, so a class defined in a notebook cell needs no file."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle

from workbench.core.errors import Findings

if TYPE_CHECKING:
    from torch import nn

MODEL_FILE = "model.pkl"
_WRITTEN_AT_RUN_TIME = "torch_geometric.nn.sequential_"  # the forward of a Sequential of PyG's


def save_module(module: nn.Module, folder: Path) -> Path:
    """Write a module as ``model.pkl`` into a run's folder, complete or not at all.

    Raises
    ------
    InputError
        Where the module holds something that cannot travel; the cause is named.
    """
    try:
        with _all_by_value():
            data = cloudpickle.dumps(module)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        findings = Findings(f"model {type(module).__name__}")
        fix = "keep open files, locks, generators and handles out of the module's attributes"
        findings.add("model", "a module that can be pickled", f"{type(error).__name__}: {error}", fix)
        findings.raise_if_any()
    path = Path(folder) / MODEL_FILE
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
    return path


def load_module(folder: Path) -> nn.Module:
    """Read the module of a run's folder. It runs the code in the file: for ranks of the run, never for a reader."""
    module: nn.Module = cloudpickle.loads((Path(folder) / MODEL_FILE).read_bytes())
    return module


@contextmanager
def _all_by_value() -> Iterator[None]:
    """Let functions travel by value whose module another process could not import."""
    with ExitStack() as stack:
        for name in [name for name in sys.modules if name.startswith(_WRITTEN_AT_RUN_TIME)]:
            cloudpickle.register_pickle_by_value(sys.modules[name])
            stack.callback(cloudpickle.unregister_pickle_by_value, sys.modules[name])
        yield
