"""What nodes and edges carry, in columns: a read-only mapping of arrays, and names kept as one block of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SPLITS = ("train_nodes", "val_nodes", "test_nodes")


class Columns(Mapping[str, Any]):
    """A read-only mapping from names to columns (arrays or :class:`SparseRows`)."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self._columns = {name: frozen(column) for name, column in dict(columns).items()}

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return "Columns(" + ", ".join(f"{name}: {describe(column)}" for name, column in self.items()) + ")"

    def __reduce__(self) -> tuple[type[Columns], tuple[dict[str, Any]]]:
        return Columns, (dict(self._columns),)  # arrays are read-only again after the journey

    @property
    def nbytes(self) -> int:
        return sum(int(getattr(column, "nbytes", 0)) for column in self.values())


def frozen(column: Any) -> Any:
    """Return a read-only view of an array; anything else as it is."""
    if not isinstance(column, np.ndarray) or not column.flags.writeable:
        return column
    view = column.view()
    view.flags.writeable = False
    return view


def describe(column: Any) -> str:
    """``float32 (2708, 1433)``; for what is no array, as it prints."""
    return f"{column.dtype} {tuple(column.shape)}" if isinstance(column, np.ndarray) else repr(column)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Names:
    """Names of nodes as UTF-8 in one block, so that a folder can map them: ``text[starts[i]:starts[i + 1]]``."""

    starts: Array
    text: Array

    @classmethod
    def from_strings(cls, strings: Iterable[Any]) -> Names:
        """Pack names; anything that is no text is shown as it prints."""
        encoded = [str(item).encode("utf-8", "replace") for item in strings]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(item) for item in encoded], out=starts[1:])
        return cls(starts=starts, text=np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def decode(self) -> Array:
        """Return the names as a NumPy array of variable-width text."""
        block, starts = self.text.tobytes(), self.starts.tolist()
        names = [block[a:b].decode("utf-8") for a, b in pairwise(starts)]
        return cast("Array", frozen(np.array(names, dtype=np.dtypes.StringDType())))
