"""docs/staleness.md says what the simulator gives and names parameters that exist."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.cost import simulate_layers
from workbench.train import STRATEGIES, UPDATES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "staleness.md").read_text(encoding="utf-8")


def test_the_makespans_are_the_simulators() -> None:
    rows = re.findall(r"^\| (yes|no) \| (yes|no) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert len(rows) == 4
    for inside, across, makespan in rows:
        waits = {"waits_inside": inside == "yes", "waits_across": across == "yes"}
        found = simulate_layers(num_partitions=3, num_layers=2, graph=1.0, neural=0.87, nonlinear=0.55, **waits)
        assert f"{found.makespan:.2f}" == makespan


def test_the_parameters_exist() -> None:
    rows = {
        "stale_halo": {"staleness_bound", "refresh_every"},
        "historical": {"num_clusters", "clusters_per_batch"},
        "sampled_boundary": {"boundary_rate"},
    }
    for name, params in rows.items():
        assert f"`{name}`" in PAGE
        assert params <= {info.name for info in STRATEGIES.entry(name).params}
        assert all(f"`{param}`" in PAGE for param in params)
    for name, param in {"local_sgd": "local_steps", "parameter_server": "staleness_bound"}.items():
        assert f'update="{name}"' in PAGE
        assert param in {info.name for info in UPDATES.entry(name).params}
