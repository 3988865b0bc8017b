"""``import workbench`` and each of its names: light, and working."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_the_sessions_module_waits_with_dask_and_torch_until_they_are_used() -> None:
    loaded = modules_after("import workbench as wb; wb.connect, wb.runs, wb.attach, wb.doctor, wb.Run, wb.Session")
    assert not {"torch", "dask", "distributed", "ipywidgets", "plotly", "numba"} & loaded


def test_the_graph_and_its_data_sets_need_no_torch() -> None:
    loaded = modules_after("import workbench as wb; wb.Graph, wb.datasets, wb.partition")
    assert not {"torch", "dask", "ipywidgets"} & loaded


@pytest.mark.parametrize("name", workbench.__all__)
def test_a_name_is_the_same_object_every_time(name: str) -> None:
    assert getattr(workbench, name) is getattr(workbench, name)
    assert name in dir(workbench)
