"""What the PyG-compatible loaders share: order, randomness, threads, and the way from a sample to a batch."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from workbench.core.rng import torch_seed
from workbench.gather.loader_batch import make_batch
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import Sampling
from workbench.gather.loader_threads import ordered_map

_ORDER = 0x0DE5  # sets the stream of the shuffled order apart from those of the samplers
_CALLS = 1 << 62  # the epochs of calls, far from those of loops

Function = Callable[[Any], Any]


class BatchLoader(DataLoader[Any], ABC):
    """A torch ``DataLoader`` whose workers are threads; abstract: what a batch of inputs reads is a subclass's.

    Threads share the graph and the features, start in microseconds, need no fork and may run inside a daemonic
    process such as a Dask worker; the kernels and the copying of rows run without Python's lock.

    Parameters
    ----------
    data : Data or Graph
        Where rows are read from, at the time of each batch: what is deleted from or added to it shows in the batches.
    num_inputs : int
        Seed nodes, or seed edges.
    sampling : Sampling
    options : mapping
        ``rng_seed``, ``transform``, ``transform_sampler_output``, ``filter_per_worker`` and DataLoader's own.
    """

    def __init__(
        self,
        data: Any,
        num_inputs: int,
        *,
        sampling: Sampling,
        options: dict[str, Any],
    ) -> None:
        options = dict(options)
        self.data = data
        self.rng_seed: int | None = options.pop("rng_seed", None)
        self.epoch = 0
        self.transform: Function | None = options.pop("transform", None)
        self.transform_sampler_output: Function | None = options.pop("transform_sampler_output", None)
        self.filter_per_worker = _filters_in_workers(options.pop("filter_per_worker", None), self)
        self.sampling = sampling
        self._calls = 0
        if self.rng_seed is not None:
            options["generator"] = torch.Generator()
        if num_inputs == 0:
            options.pop("shuffle", None)  # torch refuses to shuffle nothing
        super().__init__(range(num_inputs), **options)  # type: ignore[arg-type]  # a range is all it needs

    def __repr__(self) -> str:
        """Return e.g. ``NeighborLoader(38060 inputs, batch_size=1024, batches=38)``."""
        return f"{type(self).__name__}({len(self.dataset)} inputs, batch_size={self.batch_size}, batches={len(self)})"  # type: ignore[arg-type]

    def check_worker_number_rationality(self) -> None:
        """Leave out torch's warning about more processes than cores: workers are threads."""

    @abstractmethod
    def draw(self, index: Any, key: DrawKey) -> Any:
        """Return the ``SamplerOutput`` of the inputs at these positions; called from any thread."""

    @abstractmethod
    def label(self, batch: Any, out: Any) -> None:
        """Put what belongs to the inputs onto a batch."""

    def finish(self, out: Any) -> Any:
        """Return the batch of a sampler's output: rows are read and the user's functions applied."""
        if self.transform_sampler_output is not None:
            out = self.transform_sampler_output(out)
        batch = make_batch(self.data, out, self.sampling.edge_order)
        self.label(batch, out)
        return batch if self.transform is None else self.transform(batch)

    def __call__(self, index: Any) -> Any:
        """Return the batch of the inputs at these positions; the n-th call has its own randomness."""
        key = self._epoch_key(_CALLS + self._calls)
        self._calls += 1
        return self.finish(self.draw(index, DrawKey(rng_seed=key[0], epoch=key[1], batch=0)))

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # torch names its own iterator's class
        rng_seed, epoch = self._epoch_key(self.epoch)
        if self.rng_seed is not None:
            self.generator.manual_seed(torch_seed(self.rng_seed, self.epoch, _ORDER))
        self.epoch += 1
        order = iter(self._index_sampler)
        # The order is drawn now, not at the first step: two loops over one loader do not disturb one another.
        indices = itertools.chain(list(itertools.islice(order, 1)), order)
        keyed = ((index, DrawKey(rng_seed=rng_seed, epoch=epoch, batch=i)) for i, index in enumerate(indices))
        return self._batches(keyed)

    def _batches(self, keyed: Iterator[tuple[Any, DrawKey]]) -> Iterator[Any]:
        # A sampler of the user's may not be safe in several threads at once.
        threads = self.num_workers if self.sampling.is_own else min(self.num_workers, 1)
        made = ordered_map(
            self._work,
            keyed,
            threads=threads,
            ahead=self.num_workers * (self.prefetch_factor or 1),
            on_start=self.worker_init_fn,
            timeout_s=self.timeout,
        )
        pin = self.pin_memory and torch.cuda.is_available()
        for item in made:
            batch = item if self.filter_per_worker else self.finish(item)
            yield batch.pin_memory() if pin else batch

    def _work(self, item: tuple[Any, DrawKey]) -> Any:
        out = self.draw(*item)
        return self.finish(out) if self.filter_per_worker else out

    def _epoch_key(self, epoch: int) -> tuple[int, int]:
        """Return (rng_seed, epoch) of the samples: given, or drawn from the generator as torch draws a base seed."""
        if self.rng_seed is not None:
            return self.rng_seed, epoch
        return int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item()), 0


def _filters_in_workers(given: bool | None, loader: BatchLoader) -> bool:
    """Decide who reads the rows: workers, unless the user's functions or a device want the caller's thread."""
    if given is not None:
        return given
    has_functions = loader.transform is not None or loader.transform_sampler_output is not None
    return not has_functions and not getattr(loader.data, "is_cuda", False)
