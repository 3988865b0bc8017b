"""The samplers of a run: Dask tasks that its rank 0 submits, and that end when the ranks hang up."""

from __future__ import annotations

import logging
from typing import Any

import torch.distributed as dist

from workbench.gather import BatchPlan
from workbench.runtime.rank_link import RankLink
from workbench.runtime.remote_source import RemoteSource
from workbench.runtime.sampler_task import serve_trainers

log = logging.getLogger(__name__)
MAX_TRIES = 10


class SamplerCrew:
    """Keeps as many sampler tasks as a run has samplers; each serves every rank.

    Dask itself moves a task whose worker died; a task that Dask gives up is submitted anew.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler.
    name : str
        Unique to this gang: the tasks' names begin with it.
    addresses : list of dict
        Where each rank's source listens.
    num_samplers : int
    link : RankLink
    tls : dict
        Settings of ``distributed.security.Security``; empty without TLS.
    """

    def __init__(
        self,
        scheduler: str,
        name: str,
        addresses: list[dict[str, Any]],
        num_samplers: int,
        link: RankLink,
        tls: dict[str, str],
    ) -> None:
        from distributed import Client, Security

        logging.getLogger("distributed").setLevel(logging.ERROR)
        security = Security(require_encryption=True, **tls) if tls else None
        self._client = Client(scheduler, set_as_default=False, name=name, security=security)
        self._name, self._addresses, self._link = name, addresses, link
        self._closed = False
        self._futures: dict[int, Any] = {}
        for sampler in range(num_samplers):
            self._submit(sampler, 0)

    def _submit(self, sampler: int, tries: int) -> None:
        future = self._client.submit(
            serve_trainers,
            self._addresses,
            sampler,
            resources={"sampler": 1},
            pure=False,
            retries=MAX_TRIES,
            key=f"{self._name}-sampler{sampler}-{tries}",
        )
        self._futures[sampler] = future
        future.add_done_callback(lambda done: self._ended(sampler, tries, done))

    def _ended(self, sampler: int, tries: int, future: Any) -> None:
        if self._closed or future.status != "error" or tries >= MAX_TRIES:
            return
        text = f"sampler {sampler} ended with {future.exception()!r}; it is started again"
        self._link.emit("log_written", level="warning", text=text)
        self._submit(sampler, tries + 1)

    def close(self) -> None:
        """Withdraw the tasks; they end by themselves when the ranks hang up."""
        self._closed = True
        self._futures.clear()
        self._client.close(timeout=2)


class CrewedSource:
    """A rank's source together with the crew that fills it, which rank 0 keeps.

    It is the ``BatchSource`` that training sees.
    """

    def __init__(self, source: RemoteSource, crew: SamplerCrew | None) -> None:
        self._source, self._crew = source, crew
        self.batches = source.batches

    @property
    def slots(self) -> int:
        return self._source.slots

    @property
    def filled(self) -> int:
        return self._source.filled

    @property
    def producer(self) -> tuple[int, int]:
        """Return sampler and process id of whoever made the batch delivered last."""
        return self._source.producer

    def close(self) -> None:
        """Hang up on the samplers."""
        self._source.close()
        if self._crew is not None:
            self._crew.close()
            self._crew = None


def open_source(plan: BatchPlan, link: RankLink, spec: dict[str, Any], group: Any) -> CrewedSource:
    """Open this rank's ring, and on rank 0 start the samplers; every rank of the gang calls it."""
    rank, num_samplers = spec["rank"], spec["samplers"]
    source = RemoteSource(plan, link, spec["host"], num_samplers, measures=rank == 0)
    addresses: list[Any] = [source.address]
    if group is not None:
        addresses = [None] * spec["world_size"]
        dist.all_gather_object(addresses, source.address, group=group)
    crew = None
    if rank == 0:
        name = f"{spec['run_id']}-{spec['generation']}"
        crew = SamplerCrew(spec["scheduler"], name, addresses, num_samplers, link, spec["tls"])
    return CrewedSource(source, crew)
