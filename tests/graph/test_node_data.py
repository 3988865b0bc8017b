"""Columns and names."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph.node_data import Columns, Names


def test_columns_are_a_read_only_mapping() -> None:
    source = np.arange(3)
    columns = Columns({"a": source})
    assert dict(columns) == {"a": columns["a"]}
    assert not columns["a"].flags.writeable
    assert source.flags.writeable
    assert repr(columns) == "Columns(a: int64 (3,))"
    assert columns.nbytes == 24
    assert not pickle.loads(pickle.dumps(columns))["a"].flags.writeable
    with pytest.raises(TypeError):
        columns["b"] = 1  # type: ignore[index]


@given(st.lists(st.text(max_size=8)))
def test_names_come_back(names: list[str]) -> None:
    expected = [name.encode("utf-8", "replace").decode() for name in names]
    packed = Names.from_strings(names)
    assert packed.decode().tolist() == expected
    assert len(packed) == len(names)
