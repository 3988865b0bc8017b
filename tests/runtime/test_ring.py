"""Slots of shared memory, and the bookkeeping of batches on order."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.gather import BatchRequest
from workbench.runtime.request_board import RequestBoard
from workbench.runtime.ring import ALIGNMENT, Slot, host_identity, layout_of


def arrays(num_rows: int = 3) -> dict[str, np.ndarray]:
    return {
        "x": np.arange(num_rows * 2, dtype=np.float32).reshape(num_rows, 2),
        "ids": np.array([1, 2, 3]),
        "empty": np.empty((2, 0), np.int64),
        "scalar": np.array(7.5),
    }


@pytest.mark.parametrize("num_rows", [0, 1, 3, 100_000])
def test_what_one_end_writes_the_other_reads(num_rows: int) -> None:
    slot = Slot()
    other = Slot(os.dup(slot.fd))
    written = arrays(num_rows)
    read = slot.read(*other.write(written))
    assert list(read) == list(written)
    for name, array in written.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    slot.close()
    other.close()
    np.testing.assert_array_equal(read["x"], written["x"])  # memory outlives the descriptor


def test_a_slot_grows_and_keeps_what_was_read_before() -> None:
    slot, other = Slot(), None
    other = Slot(os.dup(slot.fd))
    small = slot.read(*other.write(arrays(1)))
    grown = slot.read(*other.write(arrays(50_000)))
    assert grown["x"].shape == (50_000, 2)
    assert small["x"].shape == (1, 2)
    slot.close()
    other.close()


def test_arrays_are_aligned_as_torch_aligns_its_own() -> None:
    slot = Slot()
    read = slot.read(*slot.write({"a": np.zeros(3, np.int8), "b": np.zeros(5, np.float32)}))
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in read.values())
    slot.close()


def test_arrays_that_are_not_contiguous_travel_too() -> None:
    slot = Slot()
    turned = np.arange(6.0).reshape(2, 3).T
    np.testing.assert_array_equal(slot.read(*slot.write({"a": turned}))["a"], turned)
    slot.close()


def test_a_layout_is_plain_data() -> None:
    layout, num_bytes = layout_of(arrays())
    assert layout[0] == ["x", "<f4", [3, 2], 0]
    assert num_bytes % ALIGNMENT == 0


def test_processes_of_one_host_have_one_identity() -> None:
    assert host_identity() == host_identity()
    assert "net:" in host_identity()


def requests(count: int) -> Iterator[BatchRequest]:
    return (BatchRequest(epoch=1, step_in_epoch=k, step=k + 1, rank=0) for k in range(count))


def test_requests_are_given_out_in_order_while_slots_are_free() -> None:
    board: RequestBoard[str] = RequestBoard(requests(5), 2)
    first, second = board.give("a"), board.give("b")
    assert first is not None
    assert second is not None
    assert (first[2].step, second[2].step) == (1, 2)
    assert board.give("a") is None, "no slot is free"
    assert board.answer(second[0], "b", "two")
    assert board.deliver() is None, "the first is not there yet"
    assert board.answer(first[0], "a", "one")
    assert board.filled == 2
    assert board.deliver() == (first[1], "one")
    assert board.give("a") is None, "the reader still holds the slot"
    board.release(first[1])
    assert board.give("a") is not None
    assert board.deliver() == (second[1], "two")


def test_what_a_lost_taker_held_is_given_first_to_another() -> None:
    board: RequestBoard[str] = RequestBoard(requests(5), 3)
    held = [board.give("lost"), board.give("other"), board.give("lost")]
    numbers = [entry[0] for entry in held if entry]
    assert board.holder() == "lost"
    assert sorted(board.lose("lost")) == sorted(entry[1] for entry in (held[0], held[2]) if entry)
    assert not board.answer(numbers[0], "lost", "too late")
    again = board.give("other")
    assert again is not None
    assert again[2].step == 1


def test_a_board_is_done_when_all_is_delivered() -> None:
    board: RequestBoard[str] = RequestBoard(requests(1), 2)
    given_out = board.give("a")
    assert given_out is not None
    assert board.give("a") is None
    assert not board.done
    board.answer(given_out[0], "a", "one")
    assert board.deliver() is not None
    assert board.done


@given(st.lists(st.tuples(st.sampled_from(["give", "answer", "lose", "deliver"]), st.sampled_from("abc"))))
def test_any_order_of_losses_delivers_each_batch_once_in_order(
    moves: list[tuple[str, str]],
) -> None:
    board: RequestBoard[int] = RequestBoard(requests(8), 3)
    held: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    delivered: list[int] = []

    for move, taker in moves:
        if move == "give" and (entry := board.give(taker)):
            held[taker].append(entry[0])
        elif move == "answer" and held[taker]:
            assert board.answer(held[taker][0], taker, held[taker].pop(0))
        elif move == "lose":
            board.lose(taker)
            held[taker].clear()
        elif move == "deliver":
            deliver(board, delivered)
    for taker in held:
        board.lose(taker)
    for _ in range(8):
        while entry := board.give("d"):
            board.answer(entry[0], "d", entry[0])
        deliver(board, delivered)
    assert board.give("d") is None
    assert board.done
    assert delivered == list(range(8))


def deliver(board: RequestBoard[int], delivered: list[int]) -> None:
    entry = board.deliver()
    if entry is not None:
        delivered.append(entry[1])
        board.release(entry[0])
