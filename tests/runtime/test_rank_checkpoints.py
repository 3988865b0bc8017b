"""Which checkpoints a rank keeps, and from which it goes on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.runtime.rank_context import HostedRank
from workbench.runtime.rank_link import RankLink
from workbench.train import checkpoint


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Any]:
    """Rank 0 of a gang that goes on from step 10, in an empty folder."""
    mine, theirs = socket.socketpair()
    link = RankLink(mine, 0, 0)
    link.counted_step = 10
    hosted = HostedRank.__new__(HostedRank)
    hosted._link, hosted._spec, hosted.rank, hosted.folder = link, {"resume_step": 10}, 0, tmp_path
    yield SimpleNamespace(hosted=hosted, link=link, told=lambda: [event["kind"] for event in link._events])
    mine.close()
    theirs.close()


def steps(folder: Path) -> list[int]:
    return [checkpoint.step_of(path) for path in checkpoint.all_in(folder)]


def save(rank: Any, *at: int) -> None:
    for step in at:
        rank.hosted.save_checkpoint({"step": step}, 1, step)


def test_the_checkpoint_that_counts_stays_however_many_come_after_it(rank: Any, tmp_path: Path) -> None:
    save(rank, 10, 15, 20, 25, 30, 35)
    assert steps(tmp_path) == [10, 15, 20, 25, 30, 35], "the others have told no step after 10"
    rank.link.counted_step = 30
    save(rank, 40)
    assert steps(tmp_path) == [30, 35, 40]
    rank.link.counted_step = 40
    save(rank, 45)
    assert steps(tmp_path) == [35, 40, 45], "three in any case"


def test_a_gang_goes_on_from_the_one_that_counts_and_later_ones_are_removed(rank: Any, tmp_path: Path) -> None:
    save(rank, 5, 10, 15)
    assert rank.hosted.load_checkpoint() == {"step": 10}
    assert steps(tmp_path) == [5, 10]
    assert rank.told() == []


def test_where_it_was_removed_the_one_before_is_taken_and_a_person_told(rank: Any, tmp_path: Path) -> None:
    save(rank, 5, 15)
    assert rank.hosted.load_checkpoint() == {"step": 5}
    assert rank.told() == ["log_written"]
