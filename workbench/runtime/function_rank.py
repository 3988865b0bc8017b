"""The rank's side of ``run_function``: the user's function instead of the training loop."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from workbench.runtime.function_call import FUNCTION_FILE, FunctionCall, know_sources, write_result
from workbench.runtime.rank_output import tell_output
from workbench.train.base import Outcome

if TYPE_CHECKING:
    from workbench.runtime.rank_context import HostedRank


class UserRank:
    """What a function of the user's knows of the rank that runs it: its parameter ``rank_context``.

    ``torch.distributed``'s default group is ready on every rank, also on a single one.
    """

    def __init__(self, context: HostedRank) -> None:
        self._context = context
        self._num_asked = 0
        self._is_told = False

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        return self._context.rank

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return self._context.world_size

    @property
    def device(self) -> torch.device:
        """The rank's GPU, or the CPU."""
        return self._context.device

    def log(self, step: int | None = None, **values: float) -> None:
        """Tell figures as an event of the run and print them; tensors of one element are turned into numbers.

        Parameters
        ----------
        step : int, optional
        **values
            Numbers by name.
        """
        numbers = {name: float(value) for name, value in values.items()}
        self._context.emit("values_logged", step=step, values=numbers)
        words = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
        sys.stdout.write(f"{words}\n" if step is None else f"step {step:,}: {words}\n")

    def should_stop(self) -> bool:
        """Say whether somebody asked to stop; all ranks must ask equally often, and hear the same.

        A function that does not ask is killed 4 seconds after a stop.
        """
        self._num_asked += 1
        control = self._context.poll_control(self._num_asked)
        self._is_told = self._is_told or (control is not None and control.kind == "stop")
        return self._is_told

    def loader(
        self, data: Any, num_neighbors: Any, *, batch_size: int, input_nodes: Any = None, **keywords: Any
    ) -> Any:
        """Return a ``NeighborLoader`` over this rank's share of the seeds.

        The seeds are dealt out anew every epoch; every rank gets the same number of batches and every seed comes once,
        so that collectives in the loop never wait in vain.

        Parameters
        ----------
        data : Graph or torch_geometric.data.Data
        num_neighbors : list of int
        batch_size : int
            Seeds of a rank in a batch, at most.
        input_nodes : ids or mask, optional
            All ranks' seeds: the same on every rank. All nodes by default.
        **keywords
            ``NeighborLoader``'s.
        """
        from workbench.gather import NeighborLoader
        from workbench.sampling.seeds import as_node_ids

        num_nodes = int(data.num_nodes)
        nodes = np.arange(num_nodes) if input_nodes is None else as_node_ids(input_nodes, num_nodes, "input_nodes")
        shares = _Shares(len(nodes), batch_size, self.rank, self.world_size, int(keywords.get("rng_seed", 0)))
        return NeighborLoader(data, num_neighbors, input_nodes=nodes, batch_sampler=shares, **keywords)

    def __repr__(self) -> str:
        return f"rank {self.rank} of {self.world_size} on {self.device}"


class _Shares:
    """Positions of a rank's seeds, batch by batch; each pass over it is the next epoch."""

    def __init__(self, num_seeds: int, batch_size: int, rank: int, world_size: int, rng_seed: int) -> None:
        self._positions = np.arange(num_seeds)
        self._split = {"batch_size": batch_size, "rank": rank, "world_size": world_size, "rng_seed": rng_seed}
        self._epoch = 0

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self._batches(self._epoch):
            yield batch.tolist()
        self._epoch += 1

    def __len__(self) -> int:
        return len(self._batches(self._epoch))

    def _batches(self, epoch: int) -> list[Any]:
        from workbench.sampling.seeds import split_seeds

        return list(split_seeds(self._positions, epoch=epoch, **self._split))


def run_function(context: HostedRank) -> Outcome:
    """Call the function that lies in the run's folder, and leave its result there."""
    started_s = time.perf_counter()
    call: FunctionCall = cloudpickle.loads((context.folder / FUNCTION_FILE).read_bytes())
    know_sources(call.sources)
    if not dist.is_initialized():  # a gang of one
        dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    keywords, rank_context = dict(call.keywords), UserRank(context)
    if "rank_context" in _parameters(call.function):
        keywords["rank_context"] = rank_context
    end = tell_output(context._link)
    try:
        result = call.function(*call.arguments, **keywords)
    finally:
        end()
    write_result(context.folder, context.rank, result)
    status = "stopped" if rank_context._is_told else "finished"
    return Outcome(status=status, step=0, elapsed_s=time.perf_counter() - started_s)  # type: ignore[arg-type]


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin without a signature
        return ()
