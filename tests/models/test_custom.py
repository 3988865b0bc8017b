"""A user's module travels by value, weights included."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, Sequential

from workbench.core.errors import InputError
from workbench.models import MODEL_FILE, load_module, save_module


def test_a_class_that_no_file_holds_comes_back_with_its_weights(tmp_path: Path) -> None:
    names: dict[str, type] = {}
    source = "class Cell(nn.Module):\n def __init__(self):\n  super().__init__(); self.lin = nn.Linear(2, 3)\n"
    exec(source + " def forward(self, x):\n  return self.lin(x)", {"nn": nn, "__name__": "__main__"}, names)
    module = names["Cell"]()
    save_module(module, tmp_path)
    x = torch.ones(1, 2)
    assert torch.equal(load_module(tmp_path)(x), module(x))


class Locked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x: Tensor) -> Tensor:
        return x


def test_a_module_that_cannot_travel_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    save_module(nn.Linear(1, 1), tmp_path)
    before = (tmp_path / MODEL_FILE).read_bytes()
    with pytest.raises(InputError, match=r"model: expected a module that can be pickled; got TypeError.*lock"):
        save_module(Locked(), tmp_path)
    assert (tmp_path / MODEL_FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [MODEL_FILE]


def test_a_sequential_of_pyg_comes_back_where_its_forward_was_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [(GCNConv(4, 8), "x, edge_index -> x"), nn.ReLU(), (GCNConv(8, 2), "x, edge_index -> x")]
    module = Sequential("x, edge_index", steps)
    x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
    save_module(module, tmp_path)
    written = [name for name in sys.modules if name.startswith("torch_geometric.nn.sequential_")]
    assert written
    for name in written:
        monkeypatch.delitem(sys.modules, name)
    assert torch.equal(load_module(tmp_path)(x, edge_index), module(x, edge_index))
