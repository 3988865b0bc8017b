"""Forces that draw a graph: edges pull, everything pushes (Fruchterman & Reingold 1991).

Repulsion is a field on a regular grid, computed by FFT from the density of the nodes: O(n + G^2 log G) a round,
whatever the graph. The field of a mass is softened within a cell, and splatting and reading use the same weights, so
that no node pushes itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import fft

from workbench.core.jit import kernel, read_only
from workbench.graph.layout_levels import Level

FLOAT = np.float32
MIN_GRID, MAX_GRID = 32, 512  # cells a side
GRAVITY = 0.1  # pull towards the middle, per length
REPULSION = 1.3  # force d / |d|^(2 * 1.3): shorter than the classic 1 / d, which throws the outskirts far away


def refine(
    level: Level, positions: np.ndarray, num_rounds: int, heat: float, on_round: Callable[[], None]
) -> np.ndarray:
    """Move the nodes of a level for some rounds of forces, in steps that shrink; return new positions (n, 2).

    Lengths are in units of the wanted length of an edge between nodes of mean mass; `heat` is the first step.
    """
    positions = np.ascontiguousarray(positions, dtype=FLOAT).copy()
    num_nodes = level.num_nodes
    grid = min(MAX_GRID, max(MIN_GRID, 1 << math.ceil(math.log2(math.sqrt(num_nodes) + 1))))
    mass = (level.mass / level.mass.mean()).astype(FLOAT)
    kernel_x, kernel_y = _kernel_spectra(grid)
    force, density = np.empty_like(positions), np.zeros((2 * grid, 2 * grid), dtype=FLOAT)
    for round_index in range(num_rounds):
        low, cell = _frame(positions, grid)
        density[:] = 0
        _splat(read_only(positions), read_only(mass), low, cell, density)
        spectrum = fft.rfft2(density)
        field_x = fft.irfft2(spectrum * kernel_x, s=density.shape)[:grid, :grid]
        field_y = fft.irfft2(spectrum * kernel_y, s=density.shape)[:grid, :grid]
        _read_field(read_only(positions), field_x, field_y, low, cell, force)
        topology = (read_only(level.starts), read_only(level.adjacent), read_only(level.weights))
        _pull(*topology, read_only(positions), read_only(mass), force)
        step = heat * (1 - round_index / num_rounds) ** 1.5 + 0.02
        _move(positions, force, FLOAT(step), FLOAT(GRAVITY), positions.mean(axis=0, dtype=np.float64).astype(FLOAT))
        on_round()
    return positions


def _frame(positions: np.ndarray, grid: int) -> tuple[np.ndarray, np.float32]:
    """Return the lower corner and the width of a cell of a square grid that holds all positions."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    side = max(float((high - low).max()), 1e-3) * 1.02
    middle = (low + high) / 2
    return (middle - side / 2).astype(FLOAT), FLOAT(side / (grid - 2))


def _kernel_spectra(grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the spectra of the force between unit masses on a padded grid, with distances in cells."""
    offsets = fft.fftfreq(2 * grid, 1 / (2 * grid)).astype(FLOAT)
    dx, dy = offsets[None, :], offsets[:, None]
    squared = (dx * dx + dy * dy + FLOAT(0.5)) ** FLOAT(REPULSION)
    return fft.rfft2(dx / squared), fft.rfft2(dy / squared)


@kernel
def _splat(positions: np.ndarray, mass: np.ndarray, low: np.ndarray, cell: np.float32, density: np.ndarray) -> None:
    for node in range(len(positions)):
        x, y = (positions[node, 0] - low[0]) / cell, (positions[node, 1] - low[1]) / cell
        column, row = int(x), int(y)
        fx, fy = x - column, y - row
        density[row, column] += mass[node] * (1 - fx) * (1 - fy)
        density[row, column + 1] += mass[node] * fx * (1 - fy)
        density[row + 1, column] += mass[node] * (1 - fx) * fy
        density[row + 1, column + 1] += mass[node] * fx * fy


@kernel
def _read_field(
    positions: np.ndarray, field_x: np.ndarray, field_y: np.ndarray, low: np.ndarray, cell: np.float32, out: np.ndarray
) -> None:
    for node in range(len(positions)):
        x, y = (positions[node, 0] - low[0]) / cell, (positions[node, 1] - low[1]) / cell
        column, row = int(x), int(y)
        fx, fy = x - column, y - row
        w00, w01, w10, w11 = (1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy
        for axis in range(2):
            field = field_x if axis == 0 else field_y
            value = w00 * field[row, column] + w01 * field[row, column + 1]
            value += w10 * field[row + 1, column] + w11 * field[row + 1, column + 1]
            out[node, axis] = value / cell


@kernel
def _pull(
    starts: np.ndarray,
    adjacent: np.ndarray,
    weights: np.ndarray,
    positions: np.ndarray,
    mass: np.ndarray,
    force: np.ndarray,
) -> None:
    """Add the pull of the edges, ``weight * distance * d`` (squared distance), per mass of the node."""
    for node in range(len(starts) - 1):
        px, py = positions[node, 0], positions[node, 1]
        fx, fy, total = 0.0, 0.0, 0.0
        for edge in range(starts[node], starts[node + 1]):
            other = adjacent[edge]
            dx, dy = positions[other, 0] - px, positions[other, 1] - py
            pull = weights[edge] * np.sqrt(dx * dx + dy * dy)
            fx += pull * dx
            fy += pull * dy
            total += weights[edge]
        force[node, 0] += fx / mass[node]
        force[node, 1] += fy / mass[node]


@kernel
def _move(positions: np.ndarray, force: np.ndarray, step: np.float32, gravity: np.float32, centre: np.ndarray) -> None:
    for node in range(len(positions)):
        fx = force[node, 0] - gravity * (positions[node, 0] - centre[0])
        fy = force[node, 1] - gravity * (positions[node, 1] - centre[1])
        length = np.sqrt(fx * fx + fy * fy)
        if length > 0:
            scale = min(step, length) / length
            positions[node, 0] += fx * scale
            positions[node, 1] += fy * scale
