"""A function of the user's on every rank: ready group, output, result, errors, stop."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

import workbench as wb
from workbench.core.errors import InputError, RunError
from workbench.core.events import of_kind
from workbench.runtime.function_call import cell_sources, pack_call
from workbench.runtime.function_rank import _Shares
from workbench.runtime.function_run import CHARACTERS_PER_S, _Budget, call_on_ranks
from workbench.runtime.rank_output import MAX_CHARACTERS, ToldStream
from workbench.runtime.run_folder import all_runs
from workbench.testing.runs import PATIENCE_S, wait_for


def sum_over_ranks(offset: int, rank_context: Any) -> dict[str, Any]:
    value = torch.tensor([float(rank_context.rank + offset)])
    dist.all_reduce(value)
    sys.stdout.write(f"I am {rank_context.rank}\n")
    rank_context.log(step=1, total=value)
    return {"rank": rank_context.rank, "world": dist.get_world_size(), "sum": value.item()}


def fail_on_one(rank_context: Any) -> None:
    if rank_context.rank == 1:
        raise KeyError("the name that is missing")
    dist.barrier()


def count_batches(graph: wb.Graph, rank_context: Any) -> list[tuple[int, list[int]]]:
    seeds = graph.train_nodes[:41]
    loader = rank_context.loader(graph, [3, 2], batch_size=8, input_nodes=seeds)
    return [(len(loader), [int(node) for batch in loader for node in batch.n_id[: batch.batch_size]]) for _ in range(2)]


def wait_for_a_stop(rank_context: Any) -> int:
    asked = 0
    while not rank_context.should_stop():
        dist.barrier()
        asked += 1
    return asked


def test_a_stream_tells_whole_lines_and_the_rest_at_the_end() -> None:
    plain, told = io.StringIO(), []
    stream = ToldStream(plain, "stdout")
    stream.write("one\ntw")
    emit = lambda kind, **data: told.append(data["text"])  # noqa: E731
    stream.drain(emit)
    stream.drain(emit)
    stream.write("o")
    stream.drain(emit, is_last=True)
    assert told == ["one\n", "two"]
    assert plain.getvalue() == "one\ntwo"


def test_a_flood_is_told_in_part_and_says_so() -> None:
    told: list[str] = []
    stream = ToldStream(io.StringIO(), "stdout")
    stream.write("x" * (MAX_CHARACTERS + 7) + "\n")
    stream.drain(lambda kind, **data: told.append(data["text"]))
    assert len(told[0]) < MAX_CHARACTERS + 200
    assert "8 characters left out" in told[0]


def test_a_notebook_gets_at_most_so_much_a_second() -> None:
    shown: list[str] = []
    budget = _Budget(lambda stream, text: shown.append(text))
    for _ in range(50):
        budget.show(0, "stdout", "y" * (CHARACTERS_PER_S // 10))
    assert sum(map(len, shown)) < 6 * CHARACTERS_PER_S  # five seconds at the very most on a busy machine


def test_what_cannot_travel_is_named_and_nothing_is_started() -> None:
    before = len(all_runs())
    with pytest.raises(InputError) as caught:
        pack_call(sum_over_ranks, (threading.Lock(),), {"other": threading.Lock()})
    assert {finding.where for finding in caught.value.findings} == {"argument 1", "other"}
    with pytest.raises(InputError, match="pass the function itself"):
        pack_call(3, (), {})  # type: ignore[arg-type]
    assert len(all_runs()) == before


def test_the_source_of_cells_is_taken_along_and_that_of_files_is_not() -> None:
    import linecache

    linecache.cache["<a cell>"] = (4, None, ["1/0\n"], "<a cell>")
    linecache.getlines(__file__)
    sources = cell_sources()
    assert sources["<a cell>"] == ["1/0\n"]
    assert __file__ not in sources


@pytest.mark.parametrize(("num_seeds", "world_size"), [(41, 2), (3, 4), (4097, 4)])
def test_every_rank_has_as_many_batches_and_every_seed_comes_once(num_seeds: int, world_size: int) -> None:
    shares = [_Shares(num_seeds, 1024, rank, world_size, 0) for rank in range(world_size)]
    for _ in range(2):
        batches = [list(share) for share in shares]
        assert len({len(own) for own in batches}) == 1
        assert sorted(np.concatenate([b for own in batches for b in own]).tolist()) == list(range(num_seeds))


@pytest.mark.slow
def test_results_come_in_rank_order_and_output_line_by_line(session: wb.Session, capsys) -> None:
    results = session.run_function(sum_over_ranks, 10, trainers=2)
    assert results == [{"rank": 0, "world": 2, "sum": 21.0}, {"rank": 1, "world": 2, "sum": 21.0}]
    shown = capsys.readouterr().out.splitlines()
    assert {"[rank 0] I am 0", "[rank 1] I am 1", "[rank 0] step 1: total 21"} <= set(shown)
    run = wb.attach(all_runs()[-1].id)
    logged = list(of_kind(run.events, "values_logged"))
    assert sorted((event.rank, event.data["step"], event.data["values"]["total"]) for event in logged) == [
        (0, 1, 21.0),
        (1, 1, 21.0),
    ]
    assert "function sum_over_ranks" in run.summary


@pytest.mark.slow
def test_one_rank_has_a_group_too_and_a_lambda_travels(session: wb.Session) -> None:
    offset = 5
    assert session.run_function(lambda: dist.get_world_size() + offset, trainers=1) == [6]


@pytest.mark.slow
def test_the_first_failing_rank_shows_its_traceback_without_ours(session: wb.Session) -> None:
    with pytest.raises(RunError) as caught:
        session.run_function(fail_on_one, trainers=2)
    text = str(caught.value)
    assert "rank 1 on" in text
    assert "the name that is missing" in text
    assert "fail_on_one" in text
    assert "runtime/rank.py" not in text


@pytest.mark.slow
def test_loaders_of_ranks_share_the_seeds(session: wb.Session, graph: wb.Graph) -> None:
    first, second = session.run_function(count_batches, graph, trainers=2)
    for epoch in range(2):
        assert first[epoch][0] == second[epoch][0]
        seeds = sorted(first[epoch][1] + second[epoch][1])
        assert seeds == sorted(graph.train_nodes[:41].tolist())
    assert first[0][1] != first[1][1], "dealt out anew"


@pytest.mark.slow
def test_an_interrupt_stops_the_ranks(session: wb.Session) -> None:
    def interrupt(stream: str, text: str) -> None:
        raise KeyboardInterrupt

    def print_and_wait(rank_context: Any) -> None:
        import time

        sys.stdout.write("here\n")
        time.sleep(1000)

    with pytest.raises(KeyboardInterrupt):
        call_on_ranks(session.cluster, print_and_wait, (), {}, trainers=2, threads_per_trainer=1, show=interrupt)
    run = wb.attach(all_runs()[-1].id)
    wait_for(lambda: run.status == "stopped", "the end")


@pytest.mark.slow
def test_a_function_that_asks_hears_a_stop_on_all_ranks(session: wb.Session) -> None:
    answers: list[Any] = []

    def call() -> None:
        try:
            answers.append(session.run_function(wait_for_a_stop, trainers=2))
        except RunError as error:
            answers.append(error)

    known = len(all_runs())
    thread = threading.Thread(target=call)
    thread.start()
    wait_for(lambda: len(all_runs()) > known and wb.attach(all_runs()[-1].id).status == "running", "the ranks")
    wb.attach(all_runs()[-1].id).stop()
    thread.join(PATIENCE_S)
    run = wb.attach(all_runs()[-1].id)
    assert run.status == "stopped"
    results = [path.name for path in sorted((run.folder / "results").iterdir())]
    assert results == ["rank-0.pkl", "rank-1.pkl"], "both came to their end by themselves"
