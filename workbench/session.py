"""L8: what a notebook calls: connect, launch, resume, run_function, attach, doctor."""

from __future__ import annotations

import html
import importlib
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

from workbench.runtime.cluster import IDLE_S, Cluster, supervisor_of
from workbench.runtime.cluster import connect as _connect
from workbench.runtime.report import Report
from workbench.runtime.run import Run
from workbench.runtime.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from workbench.dashboard.comparison import Comparison
    from workbench.graph import Graph

__all__ = ["Report", "Run", "Session", "attach", "compare", "connect", "doctor", "export_script", "runs"]


def connect(target: Any = None, *, trainers: int = 2, samplers: int = 1, idle_s: float = IDLE_S) -> Session:
    """Find this user's local cluster or start it, or connect to another.

    A local cluster outlives this process: a run goes on when the kernel dies. It ends by itself after `idle_s` seconds
    without client and run. Connecting twice gives the same cluster.

    Parameters
    ----------
    target : str, distributed.Client or cluster object, optional
        A Dask scheduler's address, a client of one, or an object such as LocalCUDACluster, SLURMCluster or
        KubeCluster; the local cluster by default. Its workers carry the resources ``trainer`` or ``sampler`` (a worker
        with neither may be both). Python, PyTorch, PyG, Dask and the workbench must have the same versions there.
    trainers, samplers : int
        How many workers of each kind the local cluster has at least; a launch that asks for more makes it grow.
    idle_s : float
        Seconds.

    Raises
    ------
    InputError
        Where nothing answers at the address, or other versions run there: each with where, and which.
    """
    session = Session(_connect(target, trainers=trainers, samplers=samplers, idle_s=idle_s))
    if (shell := _notebook_shell()) is not None:
        importlib.import_module("workbench.magics").register(shell)
    return session


class Session:
    """A cluster to launch runs on."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def launch(self, graph: Graph, model: Any = "sage", strategy: Any = "mini_batch", **keywords: Any) -> Run:
        """Start a training and return at once; show the result to watch it live.

        Parameters
        ----------
        graph : Graph
        model : str, ModelSpec, torch.nn.Module or factory
            A name, a module (its weights are the start), or ``f(in_channels, out_channels)`` that returns one.
        strategy : str or Strategy
            ``"mini_batch"``, ``"full_graph"``, ``"halo_exchange"`` (with ``partition=``), ...
        **keywords
            ``trainers=1, samplers=0, epochs=, batch_size=, fanouts=, lr=0.003, rng_seed=0, ...``: each goes to the
            part that takes it. `batch_size` is per trainer.

        Raises
        ------
        InputError
            Before anything starts, with all faults at once: an unknown or unused keyword, a value out of range,
            what the graph lacks, more ranks than a cluster that is not local has.
        """
        from workbench.train import resolve

        run = self.cluster.start(resolve(graph, model, strategy, **keywords))
        _load_dashboard()
        return run

    def attach(self, run_id: str) -> Run:
        """Return a run by its id, or by a beginning of the id that is unique."""
        _load_dashboard()
        return self.cluster.attach(run_id)

    def resume(self, run_id: str) -> Run:
        """Go on with a run from its newest checkpoint, in its own folder and with its own id.

        For a run that was stopped, that has failed, or whose scheduler died. It needs the same graph folder and as
        many trainers; the result is that of the undisturbed run, bit for bit on a CPU.

        Raises
        ------
        InputError
            Where the run is still at work, or has finished.
        """
        run = self.cluster.resume(run_id)
        _load_dashboard()
        return run

    def run_function(
        self, function: Callable[..., Any], *arguments: Any, trainers: int = 2, threads: int = 1, **keywords: Any
    ) -> list[Any]:
        """Call a function of yours on every rank, with ``torch.distributed`` ready; return the results in rank order.

        What the ranks print appears here as they print it. Interrupting stops them.

        Parameters
        ----------
        function : callable
            Also one of the notebook: it travels by value, with what it uses. A parameter called ``rank_context`` is
            given the rank's: ``rank``, ``world_size``, ``device``, ``loader(...)``, ``log(...)``, ``should_stop()``.
        *arguments, **keywords
            The function's.
        trainers : int
            Ranks.
        threads : int
            Of torch, on each rank.

        Raises
        ------
        InputError
            Where the function or an argument cannot travel.
        RunError
            With the traceback of the rank that failed first.
        """
        from workbench.runtime.function_run import call_on_ranks

        return call_on_ranks(
            self.cluster, function, arguments, keywords, trainers=trainers, threads_per_trainer=threads
        )

    def scale(self, *, trainers: int = 0, samplers: int = 0) -> Session:
        """Grow the local cluster to at least so many workers of each kind."""
        self.cluster.scale(trainers=trainers, samplers=samplers)
        return self

    def close(self, *, force: bool = False) -> None:
        """Disconnect; a local cluster ends too, unless a run or another client needs it (`force` ends it anyway)."""
        self.cluster.close(force=force)

    @property
    def lifetime(self) -> str:
        """Say how long a run here can live: what ends the scheduler."""
        return self.cluster.lifetime

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.cluster).replace("Cluster(", "Session(", 1)

    def _repr_html_(self) -> str:
        text = html.escape(repr(self).removeprefix("Session(").removesuffix(")"))
        return (
            '<div style="font-family:var(--jp-ui-font-family,sans-serif)"><b>Session</b> on the '
            f'{text}.<br><span style="opacity:.75">{html.escape(self.lifetime)}</span></div>'
        )


def runs() -> pd.DataFrame:
    """Return the runs of this home, the newest first: id, status, start, epoch, loss, metric, what it is."""
    from workbench.runtime.run_list import runs_table

    return runs_table()


def attach(run_id: str) -> Run:
    """Return a run by its id: live where its scheduler lives, else as its folder tells it.

    Raises
    ------
    InputError
        Where no run, or more than one, has an id that begins so.
    """
    _load_dashboard()
    folder = RunFolder.find(run_id)
    cluster = supervisor_of(folder)
    return Run(folder) if cluster is None else cluster.attach(folder.id)


def compare(runs: Any) -> Comparison:
    """Return runs beside each other as tables: ``history``, ``differences``, ``time_to(metric, target)``, ``pareto()``.

    ``wb.RunComparison(runs)`` shows the same as pictures. Nothing of a run's folder is executed.

    Parameters
    ----------
    runs : sequence of Run, str or Path
        Runs, their ids, or their folders.

    Raises
    ------
    InputError
        Where there is none, or one is unknown.
    """
    from workbench.widgets.comparison_records import compare as compare_records

    compared: Comparison = compare_records(runs)
    return compared


def export_script(run: Run | str) -> str:
    """Return a Python script that trains the same again, from a run or its id; print it, or write it to a file.

    Raises
    ------
    InputError
        Where there is no such run, or it only called a function.
    """
    from workbench.runtime.export import script_of

    return script_of(RunFolder.find(run if isinstance(run, str) else run.id))


def doctor(graph: Graph | None = None) -> Report:
    """Say what is wrong with this machine, or with a graph, each with its fix.

    Parameters
    ----------
    graph : Graph, optional
        Checked in addition: edges, degrees, features, labels, splits.
    """
    from workbench.core.given import require_graph
    from workbench.runtime.machine import check_machine, machine_facts

    if graph is not None:
        require_graph(graph, "doctor")

    facts, findings, subject = machine_facts(), tuple(check_machine().items), "this machine"
    if graph is not None:
        from workbench.graph import check_graph

        subject = f"graph {graph.name!r} on this machine"
        findings = (*check_graph(graph), *findings)
        facts = {"Graph": f"{graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges"} | facts
    return Report(subject=subject, facts=facts, findings=findings)


def _notebook_shell() -> Any | None:
    """Return the shell of a notebook's kernel, or None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if getattr(shell, "kernel", None) is not None else None


def _load_dashboard() -> None:
    """In a notebook, import the widgets, so that a run shows itself as its dashboard."""
    if _notebook_shell() is not None:
        _ = importlib.import_module("workbench.widgets").TrainingDashboard
