"""Load and memory of the GPU that this process computes on: by NVML where it is installed, else what CUDA tells."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any


def read_gpu() -> dict[str, Any] | None:
    """Return ``{name, percent, used_bytes, limit_bytes}`` of this process's device, or None without one.

    A rank sees one device, its own. `used_bytes` counts every process on the device, `percent` is the share of NVML's
    last sampling period in which it computed, or None without NVML (``pip install "gnn-workbench[gpu]"``). CUDA is
    never initialised here: a process that has not touched it has no device.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    properties = torch.cuda.get_device_properties(0)
    measured = _by_nvml(properties)
    if measured is None:
        free, total = torch.cuda.mem_get_info(0)
        measured = {"percent": None, "used_bytes": total - free, "limit_bytes": total}
    return {"name": str(properties.name), **measured}


def _by_nvml(properties: Any) -> dict[str, Any] | None:
    """Return what NVML tells of a device; None where it is not installed, or does not know the device."""
    with contextlib.suppress(Exception):  # NVML's errors are classes of a module that may be missing
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}")
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        percent = float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        return {"percent": percent, "used_bytes": int(memory.used), "limit_bytes": int(memory.total)}
    return None
