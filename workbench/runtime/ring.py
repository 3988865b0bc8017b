"""Slots of shared memory in which batches travel between processes of one host.

A slot is an anonymous memory file (memfd): its descriptor goes to the samplers over a unix socket, nothing is left
behind when a process is killed, and a sampler that needs more room makes it larger. Its pages stay, so that only the
first batches pay for fresh memory.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64  # bytes: as torch allocates, so that the same kernels run on the same numbers
Layout = list[Any]  # of [name, dtype, shape, offset]


def aligned(num_bytes: int) -> int:
    """Round up to a multiple of ``ALIGNMENT``."""
    return -(-num_bytes // ALIGNMENT) * ALIGNMENT


def layout_of(arrays: Mapping[str, NDArray[Any]]) -> tuple[Layout, int]:
    """Return where each array lies in a slot, and the bytes of all."""
    layout, offset = [], 0
    for name, array in arrays.items():
        layout.append([name, array.dtype.str, list(array.shape), offset])
        offset += aligned(array.nbytes)
    return layout, offset


def extent(entry: Any) -> tuple[int, int]:
    """Return the first byte of a layout's entry, and the one after its last."""
    _, dtype, shape, offset = entry
    return offset, offset + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize


class Slot:
    """One batch's place in shared memory.

    Parameters
    ----------
    fd : int, optional
        The memory file; a new one by default.
    """

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("workbench-slot") if fd is None else fd
        self._bytes: NDArray[np.uint8] = np.empty(0, np.uint8)

    def room(self, num_bytes: int) -> NDArray[np.uint8]:
        """Return the slot's first bytes, after growing it where it is smaller; writable, shared."""
        if len(self._bytes) < num_bytes:
            size = os.fstat(self.fd).st_size
            if size < num_bytes:
                size = -(-(num_bytes + num_bytes // 4) // mmap.PAGESIZE) * mmap.PAGESIZE
                os.ftruncate(self.fd, size)
            # An array made of the old mapping keeps that mapping: nothing is pulled from under it.
            self._bytes = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        return self._bytes[:num_bytes]

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> tuple[Layout, int]:
        """Copy arrays into the slot; return their layout and total bytes."""
        layout, num_bytes = layout_of(arrays)
        room = self.room(num_bytes)
        for (_, _, _, offset), array in zip(layout, arrays.values(), strict=True):
            room[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)[...] = array
        return layout, num_bytes

    def read(self, layout: Layout, num_bytes: int) -> dict[str, NDArray[Any]]:
        """Return the arrays that lie in the slot, without a copy."""
        room = self.room(num_bytes)
        arrays = {}
        for entry in layout:
            begin, end = extent(entry)
            arrays[entry[0]] = room[begin:end].view(entry[1]).reshape(entry[2])
        return arrays

    def close(self) -> None:
        """Give up the descriptor; mapped memory lives on with the arrays that use it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def host_identity() -> str:
    """Return what two processes share exactly when a unix socket and a memory file reach from one to the other."""
    with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123  # a proc file, not a path of ours
        boot = file.read().strip()
    return f"{boot} {os.readlink('/proc/self/ns/net')}"  # noqa: PTH115
