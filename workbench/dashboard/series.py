"""Series of bounded size that never lose a spike: neighbours share a bin, which keeps their least and greatest."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]

# Columns of a series' table, one row a bin.
FIRST, LAST, WEIGHT, MEAN, LOW, HIGH = range(6)
DEFAULT_CAPACITY = 256


def _empty() -> Table:
    return np.empty((0, 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values over a whole number that grows (a step), in at most `capacity` bins of `stride` steps each.

    When the bins are full, two neighbours become one and the stride doubles. A bin keeps the first and last step,
    the weighted mean, and the least and the greatest value that ever fell into it. Immutable: methods return a new
    series.

    Parameters
    ----------
    capacity : int
        Even number of bins at most.
    stride : int
        Steps a bin.
    table : float64 (bins, 6)
        ``FIRST, LAST, WEIGHT, MEAN, LOW, HIGH``.
    """

    capacity: int = DEFAULT_CAPACITY
    stride: int = 1
    table: Table = field(default_factory=_empty)

    def __len__(self) -> int:
        return len(self.table)

    def add(
        self, step: int, value: float, *, low: float | None = None, high: float | None = None, weight: float = 1.0
    ) -> Series:
        """Return the series with one more value (and the range that it stands for) at `step`, from 1."""
        row = np.array(
            [step, step, weight, value, value if low is None else low, value if high is None else high], np.float64
        )
        if len(self.table) and self._bin(self.table[-1, FIRST]) >= self._bin(step):
            table = self.table.copy()
            table[-1] = _merged(table[-1], row)
            return dataclasses.replace(self, table=table)
        grown = dataclasses.replace(self, table=np.vstack([self.table, row]))
        return grown if len(grown) <= self.capacity else grown._halved()

    def _bin(self, step: float) -> int:
        return (int(step) - 1) // self.stride

    def _halved(self) -> Series:
        stride, rows = self.stride * 2, list[npt.NDArray[np.float64]]()
        for row in self.table:
            same = rows and (int(rows[-1][FIRST]) - 1) // stride == (int(row[FIRST]) - 1) // stride
            if same:
                rows[-1] = _merged(rows[-1], row)
            else:
                rows.append(row)
        return dataclasses.replace(self, stride=stride, table=np.array(rows))

    def rewound(self, step: int) -> tuple[Series, Series]:
        """Return the series up to `step`, and what came after it: a restart runs those steps again."""
        after = self.table[:, FIRST] > step
        return dataclasses.replace(self, table=self.table[~after]), dataclasses.replace(self, table=self.table[after])

    def points(self) -> npt.NDArray[np.float32]:
        """Return what is drawn: float32 (bins, 4), rows of last step, mean, low, high."""
        return self.table[:, [LAST, MEAN, LOW, HIGH]].astype(np.float32)


def _merged(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    weight = left[WEIGHT] + right[WEIGHT]
    mean = (left[MEAN] * left[WEIGHT] + right[MEAN] * right[WEIGHT]) / weight if weight else right[MEAN]
    low, high = np.fmin(left[LOW], right[LOW]), np.fmax(left[HIGH], right[HIGH])
    return np.array([left[FIRST], max(left[LAST], right[LAST]), weight, mean, low, high])
