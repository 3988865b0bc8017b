"""Late rows that are not late, and a sampled boundary of which everything is drawn: exact, for any model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.halo_runs import by_hand, on_parts
from tests.train.test_halo_exchange import ALL, DROPPING, EXACTLY, GRAPH, expected, folder_of, root
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.boundaries.sampled import SampledRows
from workbench.train.boundaries.stale import StaleRows
from workbench.train.lateness import Schedule
from workbench.train.part_run import StepRows
from workbench.train.part_runner import PartRunner
from workbench.train.recorder import Recorder

__all__ = ["root"]  # a fixture
NewFolder = Callable[[], Path]


def late(runner: PartRunner) -> StepRows:
    return StaleRows(
        runner.exchange, Schedule(bound=0), smoothing=0.0, smoothed={"halo", "halo_gradient"}, recorder=Recorder()
    )


def drawn(runner: PartRunner) -> StepRows:
    return SampledRows(runner.exchange, runner.part, 1.0, 3)


ROWS = {"staleness_bound=0": late, "boundary_rate=1": drawn}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", ALL)
def test_a_model_on_parts_equals_the_model_on_the_whole_graph(name: str, kind: str, root: Path) -> None:
    for case in ("random 3", "empty 3"):
        for found in on_parts(ALL[name](), folder_of(case, root), 3, make_rows=ROWS[kind]):
            assert max(found.differences(expected(name)).values()) < EXACTLY, case


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", DROPPING)
def test_dropout_is_that_of_halo_exchange(name: str, kind: str, root: Path) -> None:
    folder = folder_of("empty 3", root)
    exact = on_parts(DROPPING[name](), folder, 3, keyed=True)
    for one, other in zip(exact, on_parts(DROPPING[name](), folder, 3, keyed=True, make_rows=ROWS[kind]), strict=True):
        assert max(one.differences(other).values()) == 0.0
        assert one.bytes == other.bytes


@pytest.mark.parametrize(
    ("strategy", "words"),
    [("stale_halo", {"staleness_bound": 1}), ("sampled_boundary", {"boundary_rate": 0.2}), ("halo_exchange", {})],
)
def test_a_part_without_a_node_takes_part(strategy: str, words: dict[str, object], new_folder: NewFolder) -> None:
    made = by_hand(GRAPH, [1 + node % 2 for node in range(GRAPH.num_nodes)], 3)
    settings = {"trainers": 3, "epochs": 3, "hidden_channels": 4, "partition": made, "norm": "batch", **words}
    run = train_here(resolve(GRAPH, "sage", strategy, **settings), new_folder())
    assert len(run.losses) == 3
    assert run.losses[-1] < run.losses[0] * 1.5
