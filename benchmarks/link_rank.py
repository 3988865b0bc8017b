"""One rank of a run, in a network namespace or without: trains, and prints what every step took.

python link_rank.py SPEC.json RANK
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import timedelta
from pathlib import Path


def main() -> None:
    spec, rank = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2])
    if spec["interfaces"]:
        os.environ["GLOO_SOCKET_IFNAME"] = spec["interfaces"][rank]

    import torch
    import torch.distributed as dist

    from workbench.core.config import RunConfig
    from workbench.graph import Graph
    from workbench.runtime.heap import keep_freed_memory
    from workbench.testing.rank_context import LocalContext
    from workbench.train import GlooTransport, train_rank

    torch.set_num_threads(1)
    keep_freed_memory()
    store = dist.TCPStore(spec["host"], spec["port"], 2, rank == 0, timedelta(seconds=120))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=300))
    config = RunConfig.from_json(spec["config"])
    context = LocalContext(
        config=config,
        graph=Graph.open(config.graph.folder),
        folder=Path(spec["folder"]),
        transport=GlooTransport(dist.group.WORLD),
    )
    train_rank(context)
    context.transport.barrier()
    steps, epochs = context.told("step_finished"), context.told("epoch_finished")
    found = {"steps": [dict(step) for step in steps], "epochs": [dict(epoch) for epoch in epochs]}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # what a process group destroys may wait for a peer that is gone


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main()
