"""``import workbench``: what it offers, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench

PUBLIC = [
    *(
        "ClusterPanel",
        "Explosion",
        "Graph",
        "LinkNeighborLoader",
        "NeighborLoader",
        "NeighborhoodExplorer",
        "Partition",
    ),
    *("PartitionExplorer", "Run", "RunComparison", "SampledSubgraph", "Session", "TrainingDashboard", "attach"),
    *(
        "check_parity",
        "compare",
        "connect",
        "datasets",
        "doctor",
        "explosion",
        "export_script",
        "partition",
        "runs",
        "sample",
    ),
]


def test_the_public_names_are_these() -> None:
    assert workbench.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert (getattr(workbench, name).__doc__ or "").strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        _ = workbench.nothing_of_the_kind


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["torch", "torch_geometric", "dask", "distributed", "numba", "ipywidgets", "anywidget", "plotly", "pandas"]
    code = f"import sys, workbench; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
