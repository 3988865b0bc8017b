"""One rank in a network namespace: trains, and prints what the transport counted beside what the interface sent.

python namespace_rank.py SPEC.json RANK
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import ClassVar


def sent_bytes(interface: str) -> int:
    """Return the bytes that an interface of this namespace has sent."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == interface:
            return int(numbers.split()[8])
    raise ValueError(f"no interface {interface}")


def main() -> None:
    spec, rank = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2])
    os.environ["GLOO_SOCKET_IFNAME"] = spec["interfaces"][rank]

    import torch.distributed as dist

    from workbench.core.config import RunConfig
    from workbench.graph import Graph
    from workbench.testing.rank_context import LocalContext
    from workbench.train import GlooTransport, train_rank

    class Metered(GlooTransport):
        """Keeps the sum of everything that was counted."""

        total: ClassVar[Counter[str]] = Counter()

        def take_bytes(self) -> dict[str, int]:
            counted = super().take_bytes()
            self.total.update(counted)
            return counted

    store = dist.TCPStore(spec["host"], spec["port"], 2, rank == 0, timedelta(seconds=60))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    transport = Metered(dist.group.WORLD)
    config = RunConfig.from_json(spec["config"])
    context = LocalContext(
        config=config, graph=Graph.open(config.graph.folder), folder=Path(spec["folder"]), transport=transport
    )
    transport.barrier()
    before = sent_bytes(spec["interfaces"][rank])
    train_rank(context)
    transport.barrier()
    sent = sent_bytes(spec["interfaces"][rank]) - before
    transport.take_bytes()
    sys.stdout.write(json.dumps({"sent": sent, "counted": dict(transport.total)}) + "\n")
    sys.stdout.flush()
    transport.barrier()
    os._exit(0)  # what a process group destroys may wait for a peer that is gone


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main()
