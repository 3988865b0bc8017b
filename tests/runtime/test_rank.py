"""What ended a rank: the echo of a peer's end, or an error of the code that it ran."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench.runtime.rank import classify
from workbench.train.transport import GlooTransport

CLOSED = "[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:4711"


class BrokenGroup:
    """A process group whose collectives fail as gloo's do, with an error that begins below Python."""

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 2

    @property
    def allreduce(self) -> Any:
        return torch.tensor  # any function of C++ that refuses its arguments


def raised(function: Any) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # each case has its own
        function()
    return caught.value


def lose_connection() -> None:
    raise ConnectionResetError("Connection reset by peer")


def broken_collective() -> BaseException:
    error = raised(lambda: GlooTransport(BrokenGroup()).all_reduce(torch.zeros(1)))
    return RuntimeError(CLOSED).with_traceback(error.__traceback__)


def test_a_collective_that_loses_its_peer_is_an_echo() -> None:
    assert classify(broken_collective(), world_size=2) == "peer"


def test_a_rank_alone_has_no_peer_to_lose() -> None:
    assert classify(broken_collective(), world_size=1) == "error"


def test_a_connection_that_code_of_the_users_loses_is_its_error() -> None:
    assert classify(raised(lose_connection), world_size=2) == "error"


def test_an_error_of_torch_distributed_itself_is_an_echo() -> None:
    error = raised(torch.distributed.get_world_size.__globals__["_get_default_group"])
    assert classify(RuntimeError(CLOSED).with_traceback(error.__traceback__), world_size=2) == "peer"


def test_memory_is_memory_with_any_number_of_ranks() -> None:
    assert classify(MemoryError(), world_size=1) == "memory"
