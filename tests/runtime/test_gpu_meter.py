"""What is told of a GPU, with modules that stand for CUDA and NVML: here is neither."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.runtime.gpu_meter import read_gpu
from workbench.runtime.meter import Meter

GIB = 1 << 30


def cuda(*, initialized: bool = True) -> Any:
    device = SimpleNamespace(name="H200", uuid="1234-abcd")
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_initialized=lambda: initialized,
            get_device_properties=lambda index: device,
            mem_get_info=lambda index: (100 * GIB, 140 * GIB),
        )
    )


def nvml(known: str = "GPU-1234-abcd") -> Any:
    def handle(uuid: str) -> str:
        if uuid != known:
            raise LookupError(uuid)
        return uuid

    return SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=handle,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=41 * GIB, total=141 * GIB),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=73),
    )


def test_a_process_that_never_touched_cuda_has_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", cuda(initialized=False))
    assert read_gpu() is None
    monkeypatch.delitem(sys.modules, "torch")
    assert read_gpu() is None


def test_nvml_tells_load_and_memory_of_the_device_with_the_same_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", cuda())
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    expected = {"name": "H200", "percent": 73.0, "used_bytes": 41 * GIB, "limit_bytes": 141 * GIB}
    assert read_gpu() == expected
    assert Meter().read()["gpu"] == expected


@pytest.mark.parametrize("library", [None, nvml(known="GPU-other")])
def test_without_nvml_cuda_tells_the_memory(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", cuda())
    monkeypatch.setitem(sys.modules, "pynvml", library)  # None: importing it fails
    assert read_gpu() == {"name": "H200", "percent": None, "used_bytes": 40 * GIB, "limit_bytes": 140 * GIB}
