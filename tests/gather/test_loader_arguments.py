"""The arguments of the loaders: PyG's, in PyG's order, and each of them in the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.loader import NeighborLoader as PygNeighborLoader

from workbench.gather import LinkNeighborLoader, NeighborLoader

PAGE = Path(__file__).resolve().parents[2] / "docs" / "loaders.md"
PAIRS = [(NeighborLoader, PygNeighborLoader), (LinkNeighborLoader, PygLinkNeighborLoader)]


def parameters(loader: Any) -> list[tuple[str, Any]]:
    given = inspect.signature(loader.__init__).parameters.values()
    return [(item.name, getattr(item.default, "value", item.default)) for item in given]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_arguments_and_defaults_are_pygs(ours: Any, theirs: Any) -> None:
    assert parameters(ours) == parameters(theirs)


@pytest.mark.parametrize("loader", [NeighborLoader, LinkNeighborLoader, torch.utils.data.DataLoader])
def test_every_argument_has_a_row_in_the_docs(loader: Any) -> None:
    rows = [line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    names = {name for name, _ in parameters(loader)} - {"self", "kwargs", "pin_memory_device"}
    assert names - told == set()
    assert {"rng_seed", "model", "exclude_seed_edges", "custom_cls", "input_id"} <= told
