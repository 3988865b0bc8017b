"""The compiled half of sampling: numbers, caching, and which kinds of array it is compiled for."""

from __future__ import annotations

import logging
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import types

from workbench.core import rng
from workbench.core.home import home_folder
from workbench.graph import Graph
from workbench.sampling import kernels, sample
from workbench.sampling.compiled import Kernel, frozen, kernel, vector
from workbench.testing import graphs

words = st.integers(0, 2**64 - 1)


@given(words)
def test_the_mixer_is_that_of_core(value: int) -> None:
    assert int(kernels.mix64(np.uint64(value))) == rng.mix64(value)


@given(words, st.integers(1, 2**32 - 1))
def test_below_is_the_high_word_of_the_product(bits: int, bound: int) -> None:
    assert kernels.below(np.uint64(bits), bound) == (bits * bound) >> 64


@given(words, st.integers(2**32, 2**62))
def test_below_stays_below_a_bound_of_more_than_32_bits(bits: int, bound: int) -> None:
    assert 0 <= kernels.below(np.uint64(bits), bound) < bound


def test_read_only_and_mapped_graphs_run_the_code_that_is_there(tmp_path: Path) -> None:
    graph = graphs.random(300, 900)
    mapped = Graph.open(graph.save(tmp_path / "graph"))
    seeds = np.arange(20)
    compiled = (kernels.count_edges, kernels.draw_edges, kernels.number_sources, kernels.enter_seeds)
    sample(graph, seeds)
    frozen_seeds = seeds.copy()
    frozen_seeds.flags.writeable = False
    for same in (sample(mapped, seeds), sample(mapped, frozen_seeds)):
        assert np.array_equal(same.edge_ids, sample(graph, seeds).edge_ids)
    for function in compiled:
        assert len(function.compile().signatures) == len(function.signatures)


def test_an_undeclared_type_is_refused_instead_of_compiled() -> None:
    with pytest.raises(TypeError, match="No matching definition"):
        kernels.count_edges(np.zeros(3, np.int32), np.zeros(1, np.int64), 3, False)


def double(values):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        values[i] *= 2


def test_a_kernel_compiles_on_first_use_and_is_kept_in_the_home(caplog: pytest.LogCaptureFixture) -> None:
    before = numba.config.CACHE_DIR
    with caplog.at_level(logging.INFO):
        made = kernel((vector(types.int64),))(double)
        assert made._compiled is None
        values = np.arange(4)
        made(values)
    assert values.tolist() == [0, 2, 4, 6]
    assert before == numba.config.CACHE_DIR, "the user's own functions keep their cache"
    assert any(home_folder("numba").rglob("*double*.nbi"))
    assert "Compiling double" in caplog.text, "who waits for the compiler is told"
    caplog.clear()
    again = Kernel(double, [(vector(types.int64),)])
    again(values)
    assert caplog.text == ""
    assert again.compile().stats.cache_hits, "the second time it comes from the cache"


def test_kernels_work_without_a_home_to_write_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "file"))
    values = np.arange(3)
    Kernel(double, [(vector(types.int64),)])(values)
    assert values.tolist() == [0, 2, 4]


def test_types_of_vectors() -> None:
    assert not frozen(types.int32).mutable
    assert vector(types.int64).mutable
