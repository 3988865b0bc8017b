"""An epoch of GraphSAGE on the Debian graph: one Dask sampler ahead of the trainer against sampling in the trainer.

Prints seconds an epoch (medians of epochs without the first, runs taking turns) and asserts ratios only; the losses of
both must be the same to the bit.

    python benchmarks/bench_epoch.py --rounds 3

Evaluation is left out of the measured epochs. The cluster and the runs lie in ``WORKBENCH_HOME`` or, without it, in
a temporary folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile

import workbench as wb

NUM_EPOCHS = 4
MAX_RATIO = 1.5  # of the epoch with a sampler over the one without; kept high for busy machines
SETTINGS = {"model": "sage", "strategy": "mini_batch", "fanouts": (15, 10), "batch_size": 1024, "lr": 0.003}


def train(session: wb.Session, graph: wb.Graph, samplers: int) -> tuple[list[float], list[float]]:
    """Return the seconds of each epoch but the first and the last, and the losses of all."""
    run = session.launch(graph, trainers=1, samplers=samplers, epochs=NUM_EPOCHS, evaluate_every=NUM_EPOCHS, **SETTINGS)
    history = run.wait().history
    return history.elapsed_s.diff().iloc[1:-1].tolist(), history.train_loss.tolist()


def measure(rounds: int) -> float:
    """Print both medians and return their ratio."""
    graph = wb.datasets.load("debian")
    session = wb.connect(trainers=1, samplers=1)
    seconds: dict[int, list[float]] = {0: [], 1: []}
    losses: dict[int, list[float]] = {}
    try:
        for _ in range(rounds):
            for samplers, measured in seconds.items():
                epochs, losses[samplers] = train(session, graph, samplers)
                measured += epochs
    finally:
        session.close()
    if losses[0] != losses[1]:
        raise SystemExit(f"the losses differ: {losses}")
    medians = {samplers: statistics.median(measured) for samplers, measured in seconds.items()}
    for samplers, median in medians.items():
        print(f"samplers={samplers}  {median:6.2f} s an epoch")
    return medians[1] / medians[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ.setdefault("WORKBENCH_HOME", home)
        ratio = measure(options.rounds)
    print(f"with a sampler, an epoch takes {ratio:.2f} times as long; the losses are the same to the bit")
    if ratio > MAX_RATIO:
        raise SystemExit(f"too slow: {ratio:.2f} > {MAX_RATIO}")


if __name__ == "__main__":
    main()
