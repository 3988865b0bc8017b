"""A worker of a local cluster: ``python -m workbench.runtime.worker_process ADDRESS NAME ROLE SCRATCH``.

It has one task thread and one resource, ``trainer`` or ``sampler``, and ends with the cluster's process.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys

from workbench.runtime.dask_settings import LOCAL
from workbench.runtime.zygote import die_with_parent


async def serve(address: str, name: str, role: str, scratch: str) -> None:
    """Work for the scheduler until it is gone."""
    import dask
    from distributed import Worker

    # Profiling costs 4% of a core in an idle worker; a batch lies in the ring, not in the worker's memory.
    settings = LOCAL | {"distributed.worker.profile.enabled": False, "distributed.admin.tick.limit": "30 s"}
    with dask.config.set(settings):
        worker = Worker(
            address,
            host="127.0.0.1",
            name=name,
            nthreads=1,
            resources={role: 1},
            local_directory=scratch,
            memory_limit=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",  # its HTTP server would listen everywhere
        )
        await worker
        await worker.finished()


def main() -> None:
    """Be one worker of the local cluster until its scheduler goes."""
    die_with_parent()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    address, name, role, scratch = sys.argv[1:]
    if role == "sampler":
        importlib.import_module("workbench.runtime.sampler_task")  # now, and not while a trainer waits
    asyncio.run(serve(address, name, role, scratch))
    os._exit(0)  # a sampler's thread may still wait for its trainer


if __name__ == "__main__":
    main()
