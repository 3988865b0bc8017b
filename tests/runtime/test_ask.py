"""A scheduler that is gone gives one error; what its handlers raise comes through."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from distributed.comm import CommClosedError

from workbench.core.errors import RunError
from workbench.runtime.ask import ask


class Client:
    """A client whose questions end in an error, and which may have noticed."""

    def __init__(self, error: Exception | None, status: str = "running", after: str = "running") -> None:
        self.error, self.status, self.after = error, status, after
        self.scheduler = SimpleNamespace(workbench_control="control")

    def sync(self, handler: str, **fields: Any) -> Any:
        self.status = self.after
        if self.error is not None:
            raise self.error
        return handler, fields


@pytest.mark.parametrize(
    "client",
    [
        Client(None, status="closed"),
        Client(CommClosedError("in <TCP>")),
        Client(OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 30 s")),
        Client(ConnectionRefusedError(111, "refused")),
        Client(AttributeError("'NoneType' object has no attribute 'send_recv'"), after="connecting"),
    ],
)
def test_a_scheduler_that_is_gone(client: Client) -> None:
    with pytest.raises(RunError, match=r"run a: the cluster is gone.* The folder remains: /b\. Fix: call wb\.connect"):
        ask(client, "workbench_control", subject="run a", remains="The folder remains: /b", kind="stop")


def test_what_a_handler_raises_comes_through() -> None:
    with pytest.raises(FileNotFoundError):
        ask(Client(FileNotFoundError(2, "no such file")), "workbench_control", subject="run a")


def test_an_answer() -> None:
    assert ask(Client(None), "workbench_control", subject="run a", kind="stop") == ("control", {"kind": "stop"})
