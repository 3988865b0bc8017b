"""Histories: every node's row as it was when last computed, for each message-passing call that reads it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from workbench.core.errors import RunError
from workbench.core.units import format_bytes

if TYPE_CHECKING:
    from torch import nn

PLACES = ("memory", "mmap", "pinned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the rows of one message-passing call lie.

    Parameters
    ----------
    index : int
        Which call of the forward reads them.
    layer : Module
        The layer that is called.
    shape : tuple of int
        Of a node's row.
    first : int
        Column at which it begins; the rows of all calls stand side by side.
    """

    index: int
    layer: nn.Module
    shape: tuple[int, ...]
    first: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.first + self.width)

    @property
    def width(self) -> int:
        width = 1
        for size in self.shape:
            width *= size
        return width


def width_of(slots: Sequence[Slot]) -> int:
    """Return the columns of all calls together."""
    return sum(slot.width for slot in slots)


class HistoryRows:
    """One row a node, the values of all calls side by side, and the step at which each row was written.

    Parameters
    ----------
    num_rows, width : int
        Nodes, and columns of all calls.
    dtype : torch.dtype
    place : str
        ``memory``; ``mmap``: a file under `folder`, of which what is in use stays in memory; ``pinned``: memory that a
        GPU reads by itself.
    folder : Path, optional
        Where a file is made; it is removed at the end.
    rank : int
        Names the file.

    Raises
    ------
    RunError
        Where the disk has no room for the file.
    """

    def __init__(
        self, num_rows: int, width: int, dtype: torch.dtype, place: str, folder: Path | None = None, rank: int = 0
    ) -> None:
        self._path: Path | None = None
        if place == "mmap" and num_rows * width:
            assert folder is not None, "a file lies somewhere"
            self.rows = self._mapped(num_rows, width, dtype, folder, rank)
        else:
            pinned = place == "pinned" and torch.cuda.is_available()
            self.rows = torch.zeros(num_rows, width, dtype=dtype, pin_memory=pinned)
        self.written = torch.zeros(num_rows, dtype=torch.int64)  # global step, 0: never

    def _mapped(self, num_rows: int, width: int, dtype: torch.dtype, folder: Path, rank: int) -> Tensor:
        folder.mkdir(parents=True, exist_ok=True)
        size, free = num_rows * width * dtype.itemsize, shutil.disk_usage(folder).free
        if size > free:  # a full disk would end the process at some write
            raise RunError(
                f"histories: expected {format_bytes(size)} free in {folder}; got {format_bytes(free)}. "
                "Fix: make room, or use history='memory'"
            )
        self._path = folder / f"rank{rank}.rows"
        self._path.unlink(missing_ok=True)  # of a rank that was killed
        flat = torch.from_file(str(self._path), shared=True, size=num_rows * width, dtype=dtype)
        return flat.view(num_rows, width)

    @property
    def num_bytes(self) -> int:
        """Return the bytes of the rows."""
        return self.rows.numel() * self.rows.element_size()

    def read(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows (k, width) and the steps at which they were written (k,); the steps are looked at first.

        A row that is written meanwhile has another step afterwards: who reads ahead of a writer sees it by that.
        """
        written = self.written[positions]
        return self.rows[positions], written

    def write(self, positions: Tensor, slot: Slot, values: Tensor) -> None:
        """Set what one call reads of some nodes."""
        flat = values.detach().reshape(len(positions), slot.width)
        self.rows[positions, slot.columns] = flat.to(device="cpu", dtype=self.rows.dtype)

    def stamp(self, positions: Tensor, step: int) -> None:
        """Say that all calls' rows of some nodes have been written in a step."""
        self.written[positions] = step

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "written": self.written}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put rows back.

        Raises
        ------
        RunError
            Where they are of another model or graph.
        """
        if state["rows"].shape != self.rows.shape:
            got, wanted = tuple(state["rows"].shape), tuple(self.rows.shape)
            raise RunError(f"histories: expected rows of shape {wanted}; got {got} in the checkpoint. Fix: launch anew")
        self.rows.copy_(state["rows"])
        self.written.copy_(state["written"])

    def close(self) -> None:
        """Remove the file, if there is one."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
