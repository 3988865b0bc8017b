"""A cluster that Dask, and not the workbench, has started."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import of_kind
from workbench.testing.runs import PATIENCE_S, losses

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a plain cluster of two workers that know nothing of the workbench."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0) as cluster:
        yield cluster.scheduler_address


def test_runs_on_a_plain_cluster_give_the_same_bits(address: str, session: wb.Session, graph: wb.Graph) -> None:
    settings = {"trainers": 2, "epochs": 2, "batch_size": 16, "fanouts": (5, 5), "hidden_channels": 16}
    here = session.launch(graph, "sage", "mini_batch", **settings).wait(PATIENCE_S)
    foreign = wb.connect(address)
    assert not foreign.cluster.is_local
    there = foreign.launch(graph, "sage", "mini_batch", samplers=1, **settings).wait(PATIENCE_S)
    assert losses(there) == losses(here)
    assert {event.data["host"] for event in of_kind(there.events, "rank_ready")} == {"127.0.0.1"}
    assert wb.connect(address).cluster is foreign.cluster
    foreign.close()


def test_a_client_may_be_given_and_stays_the_users(address: str, graph: wb.Graph) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        session = wb.connect(client)
        before = os.listdir(os.environ["WORKBENCH_HOME"] + "/runs")  # noqa: PTH208
        with pytest.raises(InputError, match="at most the 2"):
            session.launch(graph, "sage", "mini_batch", trainers=3, epochs=1)
        assert os.listdir(os.environ["WORKBENCH_HOME"] + "/runs") == before, "nothing was started"  # noqa: PTH208
        session.launch(graph, "sage", "mini_batch", epochs=1, fanouts=(3, 3)).wait(PATIENCE_S)
        session.close()
        assert client.status == "running"
