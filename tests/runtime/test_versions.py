"""A cluster that runs other versions is refused in one clear error, and a worker that joins later holds no rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import of_kind
from workbench.runtime import cluster as _cluster  # noqa: F401  # before its functions are replaced here
from workbench.runtime import versions
from workbench.runtime.lifetime import lifetime_of
from workbench.runtime.versions import MISSING, difference_text, differences, own_versions, raise_differences
from workbench.testing.runs import PATIENCE_S, wait_for

OWN = dict.fromkeys(own_versions(), "1.0")


def test_this_process_has_them_all() -> None:
    assert MISSING not in own_versions().values()
    assert "+" not in own_versions()["torch"]


def test_only_what_matters_there_is_compared() -> None:
    scheduler = OWN | {"torch": MISSING, "numpy": "0.9"}
    assert differences(OWN, scheduler, has_ranks=False) == {}
    assert differences(OWN, scheduler, has_ranks=True) == {"torch": ("1.0", MISSING), "numpy": ("1.0", "0.9")}
    assert difference_text(OWN, OWN | {"torch": "2.0"}, has_ranks=True) == "torch 2.0 and not 1.0"


def test_all_differences_are_told_at_once_with_places() -> None:
    sides: dict[str, Any] = {"the scheduler": (OWN | {"dask": "2.0", "torch": MISSING}, False)}
    sides |= {f"worker w{k}": (OWN | {"torch": "3.0"}, True) for k in range(5)}
    with pytest.raises(InputError) as caught:
        raise_differences(OWN, sides)
    text = str(caught.value)
    assert "2 problems" in text
    assert "dask 1.0, as in this process" in text
    assert "2.0 on the scheduler" in text
    assert "3.0 on worker w0, worker w1, worker w2 and 2 more" in text
    assert "Fix: install torch 1.0 there" in text
    raise_differences(OWN, {"the scheduler": (OWN, False)})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster object of Dask's: the form of LocalCUDACluster and of those of dask-jobqueue."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_foreign_cluster_with_other_versions_is_refused_before_anything_is_registered(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended = own_versions() | {"torch": "9.9", "gnn-workbench": "9.9"}
    monkeypatch.setattr(versions, "own_versions", lambda: pretended)
    with pytest.raises(InputError) as caught:
        wb.connect(cluster)
    for part in ("torch 9.9", "gnn-workbench 9.9", "on the scheduler", "worker tcp://"):
        assert part in str(caught.value)
    monkeypatch.undo()
    assert "workbench-run-manager" not in cluster.scheduler.plugins


@pytest.mark.slow
def test_a_cluster_object_is_used_gets_resources_and_says_how_long_a_run_lives(cluster: Any, graph: wb.Graph) -> None:
    session = wb.connect(cluster)
    assert wb.connect(cluster).cluster is session.cluster
    assert "A run ends with this kernel, whose LocalCluster holds the scheduler" in session.lifetime
    assert "LocalCluster" in session._repr_html_()
    assert [(worker["trainer"], worker["sampler"]) for worker in session.cluster.workers()] == [(1, 1)]
    session.launch(graph, "sage", epochs=1, fanouts=(3, 3), hidden_channels=8).wait(PATIENCE_S)

    _pretend(session, torch="9.9")
    cluster.scale(2)
    wait_for(lambda: sum(worker["trainer"] for worker in session.cluster.workers()) == 2, "another worker")
    run = session.launch(graph, "sage", trainers=2, epochs=1, fanouts=(3, 3), hidden_channels=8)
    told = wait_for(lambda: [e for e in of_kind(run.events, "log_written") if "holds no rank" in e.data["text"]], "it")
    assert "torch" in told[0].data["text"]
    assert "9.9" in told[0].data["text"]
    run.stop(force=True)
    session.close()


def _pretend(session: wb.Session, **pretended: str) -> None:
    """Let workers that join from now on find other versions than theirs at the client."""
    from workbench.runtime.rank_host import RankHost

    plugin = RankHost(versions=own_versions() | pretended)
    plugin.idempotent = False
    session.cluster.client.register_plugin(plugin)


class Elsewhere:
    """The shape of a KubeCluster: it has an address, and no scheduler in this process."""

    shutdown_on_close = False


class Jobs(Elsewhere):
    job_cls = "SLURMJob"
    shutdown_on_close = True


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (None, "as long as the scheduler at tcp://10.0.0.1:8786 lives"),
        (Elsewhere(), "as long as the scheduler of Elsewhere at tcp://10.0.0.1:8786 lives"),
        (Jobs(), "A worker whose job runs out costs a restart"),
        (Jobs(), "as Jobs closes with it"),
    ],
)
def test_how_long_a_run_lives_is_told_by_who_holds_the_scheduler(cluster: Any, words: str) -> None:
    client = type("Client", (), {"cluster": cluster, "scheduler": type("Rpc", (), {"address": "tcp://10.0.0.1:8786"})})
    assert words in lifetime_of(client)


def test_a_target_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="an address, a Client or a cluster"):
        wb.connect(7)
