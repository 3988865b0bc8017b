"""The workers of a real local cluster: facts, and a restart of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.runtime.cluster_workers import restart_worker, run_states, worker_facts

Rows = list[dict[str, Any]]


def rows_when(session: wb.Session, is_so: Callable[[Rows], bool], timeout_s: float = 120) -> Rows:
    deadline = time.monotonic() + timeout_s
    while not is_so(rows := worker_facts(session.cluster)):
        assert time.monotonic() < deadline, rows
        time.sleep(0.2)
    return rows


def test_facts_of_every_worker(session: wb.Session) -> None:
    rows = rows_when(session, lambda rows: len(rows) >= 4)
    assert sorted(role for row in rows for role in row["roles"]) == ["sampler", "sampler", "trainer", "trainer"]
    assert all(row["address"].startswith("tcp://") for row in rows)
    assert [row["roles"] for row in rows][:2] == [["trainer"], ["trainer"]]
    rows_when(session, lambda rows: all(row["memory_bytes"] > 10_000_000 for row in rows))
    assert isinstance(run_states(session.cluster), dict)


def test_a_worker_that_is_restarted_comes_again_as_another_process(session: wb.Session) -> None:
    before = {row["name"]: row["address"] for row in rows_when(session, lambda rows: len(rows) >= 4)}
    name = next(reversed(before))
    restart_worker(session.cluster, name)
    now = rows_when(session, lambda rows: any(r["name"] == name and r["address"] != before[name] for r in rows))
    assert {row["name"]: row["address"] for row in now if row["name"] != name}.items() <= before.items()


def test_an_unknown_worker_is_an_error_that_names_the_others(session: wb.Session) -> None:
    rows_when(session, lambda rows: len(rows) >= 3)
    with pytest.raises(InputError, match=r"one of \['sampler0'"):
        restart_worker(session.cluster, "nobody")
