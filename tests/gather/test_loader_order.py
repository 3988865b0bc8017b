"""Order, randomness and threads of NeighborLoader: the same batches whoever makes them, and nothing left behind."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
import torch
from torch_geometric.data import Data

from workbench.core.errors import RunError
from workbench.gather import NeighborLoader
from workbench.gather.loader_threads import ordered_map

NUM_NODES = 200


def make_data(num_nodes: int = NUM_NODES) -> Data:
    random = torch.Generator().manual_seed(0)
    edge_index = torch.randint(0, num_nodes, (2, 20 * num_nodes), generator=random)
    return Data(x=torch.arange(num_nodes)[:, None].float(), edge_index=edge_index, num_nodes=num_nodes)


def signature(loader: Any) -> list[tuple[Any, ...]]:
    return [(tuple(b.input_id.tolist()), tuple(b.n_id.tolist()), tuple(b.e_id.tolist())) for b in loader]


def make(**options: Any) -> NeighborLoader:
    return NeighborLoader(make_data(), [4, 3], **{"batch_size": 32, "shuffle": True, **options})


@pytest.mark.parametrize(
    "options", [{"rng_seed": 5}, {"rng_seed": 5, "shuffle": False}, {"rng_seed": 5, "replace": True}]
)
def test_batches_do_not_depend_on_the_number_of_workers(options: dict[str, Any]) -> None:
    expected = signature(make(**options))
    for more in ({"num_workers": 1}, {"num_workers": 3}, {"num_workers": 2, "filter_per_worker": False}):
        assert signature(make(**options, **more)) == expected
    assert signature(make(**options, num_workers=4, prefetch_factor=7, persistent_workers=True)) == expected


def test_ten_runs_are_the_same_and_epochs_differ() -> None:
    runs = []
    for _ in range(10):
        loader = make(rng_seed=1)
        runs.append([signature(loader), signature(loader)])
    assert all(run == runs[0] for run in runs)
    assert runs[0][0] != runs[0][1]
    assert sorted(i for ids, _, _ in runs[0][0] for i in ids) == list(range(NUM_NODES))


def test_a_later_epoch_can_be_made_at_once() -> None:
    loader = make(rng_seed=1)
    epochs = [signature(loader) for _ in range(3)]
    resumed = make(rng_seed=1)
    resumed.epoch = 2
    assert signature(resumed) == epochs[2]


def test_other_rng_seeds_give_other_samples() -> None:
    unshuffled = [signature(make(rng_seed=rng_seed, shuffle=False)) for rng_seed in (1, 2)]
    assert unshuffled[0] != unshuffled[1]
    assert [ids for ids, _, _ in unshuffled[0]] == [ids for ids, _, _ in unshuffled[1]]


@pytest.mark.parametrize("workers", [0, 2])
def test_without_rng_seed_torchs_random_state_or_the_generator_decides(workers: int) -> None:
    runs = []
    for _ in range(2):
        torch.manual_seed(7)
        runs.append(signature(make(num_workers=workers)))
        runs.append(signature(make(num_workers=workers, generator=torch.Generator().manual_seed(7))))
    assert runs[0] == runs[2] != runs[1] == runs[3]
    assert signature(make(num_workers=workers)) not in runs


def test_the_order_is_that_of_torchs_dataloader() -> None:
    torch.manual_seed(3)
    expected = [ids.tolist() for ids in torch.utils.data.DataLoader(range(NUM_NODES), 32, shuffle=True)]  # type: ignore[arg-type]
    torch.manual_seed(3)
    assert [list(ids) for ids, _, _ in signature(make())] == expected


def test_two_loops_at_a_time_do_not_disturb_one_another() -> None:
    loader = make(rng_seed=2)
    epochs = [signature(loader), signature(loader)]
    loader.epoch = 0
    pairs = list(zip(loader, loader, strict=True))
    assert [signature([first for first, _ in pairs]), signature([second for _, second in pairs])] == epochs


def test_workers_are_threads_and_end_with_the_loop() -> None:
    names: list[str] = []
    children = psutil.Process().children()
    loader = make(
        num_workers=2, worker_init_fn=lambda number: names.append(f"{number} {threading.current_thread().name}")
    )
    for batch in loader:
        assert batch.num_nodes > 0
        assert psutil.Process().children() == children
    assert {name.split()[0] for name in names} <= {"0", "1"}
    assert all("workbench-loader" in name for name in names)
    wait_until_no_worker()


def wait_until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.01)


def wait_until_no_worker() -> None:
    wait_until(lambda: not any("workbench-loader" in thread.name for thread in threading.enumerate()))


def test_a_loop_that_is_left_ends_its_workers() -> None:
    for _ in make(num_workers=2, batch_size=1):
        break
    gc.collect()
    wait_until_no_worker()


def test_an_error_of_the_users_comes_where_its_batch_would_have_come() -> None:
    def refuse(batch: Data) -> Data:
        if 40 in batch.input_id:
            raise LookupError("node 40")
        return batch

    for workers, filters in ((0, None), (2, True), (2, False)):
        loader = make(shuffle=False, transform=refuse, num_workers=workers, filter_per_worker=filters)
        iterator = iter(loader)
        assert next(iterator).input_id[0] == 0
        with pytest.raises(LookupError, match="node 40"):
            next(iterator)
    wait_until_no_worker()


def test_an_error_of_worker_init_fn_is_the_users_own() -> None:
    def refuse(number: int) -> None:
        raise LookupError(f"worker {number}")

    with pytest.raises(LookupError, match="worker 0"):
        next(iter(make(num_workers=1, worker_init_fn=refuse)))
    wait_until_no_worker()


def test_a_batch_that_takes_too_long_is_an_error() -> None:
    gate = threading.Event()
    loader = make(num_workers=1, timeout=0.05, transform=lambda batch: gate.wait() and batch, filter_per_worker=True)
    with pytest.raises(RunError, match=r"timeout=0\.05 s"):
        next(iter(loader))
    gate.set()
    wait_until_no_worker()


def test_work_ahead_is_bounded() -> None:
    begun: list[int] = []

    def note(item: int) -> int:
        begun.append(item)
        return item

    def items() -> Iterator[int]:
        yield from range(100)

    results = ordered_map(note, items(), threads=2, ahead=5)
    assert next(results) == 0
    wait_until(lambda: len(begun) == 5)
    time.sleep(0.05)
    assert len(begun) == 5
    assert list(results) == list(range(1, 100))
    assert sorted(begun) == list(range(100))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_memory_stays_flat_over_epochs(workers: int) -> None:
    loader = NeighborLoader(make_data(10_000), [10, 5], batch_size=512, shuffle=True, num_workers=workers)
    process = psutil.Process()

    def resident_after(epochs: int) -> int:
        for _ in range(epochs):
            for _ in loader:
                pass
        gc.collect()
        return int(process.memory_info().rss)

    before = resident_after(4)
    assert resident_after(15) - before < 20e6


def _sum_in_daemon(queue: Any) -> None:
    loader = NeighborLoader(make_data(), [4, 3], batch_size=32, num_workers=2, rng_seed=1)
    queue.put([float(batch.x.sum()) for batch in loader])


@pytest.mark.slow
def test_a_daemonic_process_may_have_workers() -> None:
    """As in a Dask worker: torch's own loader would have to start children there, which Python forbids."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_sum_in_daemon, args=(queue,), daemon=True)
    process.start()
    sums = queue.get(timeout=250)
    process.join(timeout=60)
    expected = NeighborLoader(make_data(), [4, 3], batch_size=32, rng_seed=1)
    assert sums == [float(batch.x.sum()) for batch in expected]
