"""From a cell to the first training step, warm and cold, against ``torch.distributed.run`` with the same code.

    python -m benchmarks.first_step --rounds 5 --root ../shared/data/planetoid

Both train two ranks of a GraphSAGE on Cora over gloo. *launch* is ``session.launch(...)`` until the first
``step_finished`` of every rank is there; *function* is ``session.run_function(steps)`` with the very function that
torch.distributed.run runs as a script: load the graph, join, ``DistributedDataParallel``, one step. *Warm* is a cluster
that has run something before, *cold* one that is not started yet. Medians of the rounds are printed, which take turns;
it exits with 1 where the warm function is not faster than the script.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import workbench as wb
from workbench.core.events import of_kind

RANKS = 2


def steps(folder: str) -> float:
    """Take one step of data-parallel training on the graph of a folder; return when it was done (Unix)."""
    import torch
    import torch.distributed as dist
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel
    from torch_geometric.nn import GraphSAGE

    graph = wb.Graph.open(Path(folder))
    data = graph.to_pyg()
    model = DistributedDataParallel(GraphSAGE(graph.x.shape[1], 16, 2, out_channels=graph.num_classes))
    optimizer = torch.optim.Adam(model.parameters())
    mine = torch.as_tensor(graph.train_nodes.copy())[dist.get_rank() :: dist.get_world_size()]
    loss = cross_entropy(model(data.x, data.edge_index)[mine], data.y[mine])
    loss.backward()
    optimizer.step()
    return time.time()


def as_script(folder: str) -> float:
    """Return the seconds from the command to the first step of the slowest rank, by torch.distributed.run."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}", "-m"]
    begin_s = time.time()
    done = subprocess.run(
        [*command, "benchmarks.first_step", "--script", folder], capture_output=True, text=True, check=True
    )
    return max(float(line) for line in done.stdout.split()) - begin_s


def as_function(session: wb.Session, folder: str) -> float:
    """Return it for the same function on the workbench."""
    begin_s = time.time()
    return max(session.run_function(steps, folder, trainers=RANKS)) - begin_s


def as_launch(session: wb.Session, graph: wb.Graph) -> float:
    """Return the seconds from ``launch`` to the first step of the slowest rank, as this process hears of it."""
    begin_s = time.time()
    run = session.launch(graph, "sage", "mini_batch", trainers=RANKS, epochs=2, hidden_channels=16)
    while len({event.rank for event in of_kind(run.events, "step_finished")}) < RANKS:
        time.sleep(0.01)
    first_s = time.time()
    run.wait(120)
    return first_s - begin_s


def cold(graph: wb.Graph) -> float:
    """Return the seconds from ``connect`` without a cluster to the first step."""
    begin_s = time.time()
    session = wb.connect(trainers=RANKS, samplers=0)
    connected_s = time.time() - begin_s
    seconds = connected_s + as_launch(session, graph)
    session.close(force=True)
    return seconds


def measure(rounds: int, root: str | None) -> dict[str, list[float]]:
    """Return the seconds of every way, in turns."""
    graph = wb.datasets.load("cora", root=root) if root else wb.datasets.load("cora")
    seconds: dict[str, list[float]] = {"script": [], "function": [], "launch": [], "cold": []}
    with tempfile.TemporaryDirectory() as folder:
        graph.save(Path(folder) / "cora")
        for _ in range(rounds):
            seconds["cold"].append(cold(graph))
            with wb.connect(trainers=RANKS, samplers=0) as session:
                as_launch(session, graph)  # warms
                seconds["launch"].append(as_launch(session, graph))
                seconds["function"].append(as_function(session, str(Path(folder) / "cora")))
                session.close(force=True)
            seconds["script"].append(as_script(str(Path(folder) / "cora")))
    return seconds


def main() -> int:
    """Be the script, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--root", help="folder with the raw files of Cora")
    parser.add_argument("--script", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.script:
        import torch.distributed as dist

        dist.init_process_group("gloo")
        sys.stdout.write(f"{steps(options.script)}\n")
        dist.destroy_process_group()
        return 0
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ["WORKBENCH_HOME"] = home
        seconds = measure(options.rounds, options.root)
    medians = {way: statistics.median(values) for way, values in seconds.items()}
    for way, median in medians.items():
        ratio = f"{median / medians['script']:.2f} of torch.distributed.run"
        sys.stdout.write(f"{way:<9} {median:6.2f} s  {ratio}   ({', '.join(f'{v:.2f}' for v in seconds[way])})\n")
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n")
    return int(medians["function"] > medians["script"])


if __name__ == "__main__":
    sys.exit(main())
