"""Parquet tables: ids as numbers or text, features as lists, splits and labels by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph


def write(folder: Path, file_name: str, **columns: Any) -> Path:
    file = folder / f"{file_name}.parquet"
    pd.DataFrame(columns).to_parquet(file)
    return file


def test_edges_alone(tmp_path: Path) -> None:
    edges = write(tmp_path, "edges", source=[2, 0], destination=[0, 1], weight=[0.5, 1.5])
    graph = Graph.from_parquet(edges, name="tables")
    assert graph.edge_index().tolist() == [[2, 0], [0, 1]]
    assert graph.edge_data["weight"].tolist() == [0.5, 1.5]
    assert graph.name == "tables"


def test_nodes_bring_features_labels_splits_and_names(tmp_path: Path) -> None:
    edges = write(tmp_path, "edges", source=["b", "a"], destination=["c", "b"])
    nodes = write(
        tmp_path,
        "nodes",
        id=["a", "b", "c", "lonely"],
        x=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        label=["red", "blue", "red", "red"],
        split=["train", "valid", "test", "none"],
        age=[1, 2, 3, 4],
    )
    graph = Graph.from_parquet(edges, nodes)
    assert graph.num_nodes == 4
    assert graph.edge_index().tolist() == [[0, 1], [1, 2]]
    assert graph.x.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert graph.class_names == ("blue", "red")
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0, 1, 1]
    assert [graph.train_nodes.tolist(), graph.val_nodes.tolist(), graph.test_nodes.tolist()] == [[0], [1], [2]]
    assert graph.node_names is not None
    assert graph.node_names.tolist() == ["a", "b", "c", "lonely"]
    assert graph.node_data["age"].tolist() == [1, 2, 3, 4]


def test_ids_that_are_numbers_in_any_order(tmp_path: Path) -> None:
    edges = write(tmp_path, "edges", source=[70, 10], destination=[10, 40])
    nodes = write(tmp_path, "nodes", id=[40, 70, 10], y=[0, 1, 2], name=["forty", "seventy", "ten"])
    graph = Graph.from_parquet(edges, nodes)
    assert graph.edge_index().tolist() == [[2, 1], [0, 2]]
    assert graph.node_names is not None
    assert graph.node_names[2] == "ten"


def test_text_ids_without_a_table_of_nodes(tmp_path: Path) -> None:
    graph = Graph.from_parquet(write(tmp_path, "edges", source=["z", "a"], destination=["a", "m"]))
    assert graph.node_names is not None
    assert graph.node_names.tolist() == ["a", "m", "z"]
    assert graph.edge_index().tolist() == [[2, 0], [0, 1]]


def test_rows_of_nodes_are_the_ids_where_no_id_is_given(tmp_path: Path) -> None:
    edges = write(tmp_path, "edges", source=[0], destination=[1])
    assert Graph.from_parquet(edges, write(tmp_path, "nodes", y=[0, 1, 0])).num_nodes == 3


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    edges = write(tmp_path, "edges", source=[1, 9], destination=[1, 1])
    with pytest.raises(InputError, match="no such file"):
        Graph.from_parquet(tmp_path / "nothing.parquet")
    with pytest.raises(InputError, match="ids that nodes lacks, first 9") as caught:
        Graph.from_parquet(edges, write(tmp_path, "nodes", id=[1, 1]))
    assert {finding.where for finding in caught.value.findings} == {"edges", "nodes['id']"}
    with pytest.raises(InputError) as caught:
        Graph.from_parquet(write(tmp_path, "turned", src=[1], destination=[None]))
    assert {finding.where for finding in caught.value.findings} == {"edges['source']", "edges['destination']"}
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(InputError, match="a Parquet file"):
        Graph.from_parquet(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="float64"):
        Graph.from_parquet(write(tmp_path, "floats", source=[0.5], destination=[1.0]))
    holed = write(tmp_path, "holed", x=[[1.0, np.nan], [1.0, 2.0]])
    with pytest.raises(InputError, match="NaN"):
        Graph.from_parquet(write(tmp_path, "e", source=[0], destination=[1]), holed)
