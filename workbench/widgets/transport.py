"""How values travel to the browser: plain JSON with arrays left out, and the arrays beside it as binary buffers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_BROWSER_DTYPES = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float32",
    "int32": "int32",
    "uint32": "uint32",
    "int16": "int16",
    "uint16": "uint16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "uint8",
}


def encode(value: Any) -> tuple[Any, list[memoryview]]:
    """Split a value into JSON and buffers.

    Mappings, sequences, texts, numbers and None become JSON; NaN and infinities become null. A NumPy array becomes
    ``{"$array": index of its buffer, "dtype": ..., "shape": [...]}``; 64-bit integers travel as int32 where they fit
    and as float64 otherwise, since a browser's numbers are exact only up to 2**53. Bytes travel as a uint8 array.
    """
    buffers: list[memoryview] = []
    return _encode(value, buffers), buffers


def _encode(value: Any, buffers: list[memoryview]) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _encode(item, buffers) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item, buffers) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = np.frombuffer(value, np.uint8)
    if isinstance(value, np.ndarray):
        return _encode_array(value, buffers)
    raise TypeError(f"a {type(value).__name__} cannot travel to the browser; turn it into numbers, text or an array")


def _encode_array(array: np.ndarray, buffers: list[memoryview]) -> dict[str, Any]:
    array = browser_array(array)
    buffers.append(memoryview(array.reshape(-1)).cast("B"))
    return {"$array": len(buffers) - 1, "dtype": array.dtype.name, "shape": list(array.shape)}


def browser_array(array: np.ndarray) -> np.ndarray:
    """Return a contiguous little-endian array of a type that browsers have, with the same values."""
    name = array.dtype.name
    if name in ("int64", "uint64"):
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        target = "int32" if fits else "float64"
    elif name in _BROWSER_DTYPES:
        target = _BROWSER_DTYPES[name]
    else:
        raise TypeError(f"an array of {name} cannot travel to the browser")
    return np.ascontiguousarray(array, np.dtype(target).newbyteorder("<")).view(target)
