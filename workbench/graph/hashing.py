"""BLAKE2b of arrays: the fingerprint of a topology and the checksums of a folder."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 16
CHUNK_BYTES = 1 << 24


def array_hash(array: NDArray[Any]) -> str:
    """Return the hash of an array's type, shape and content, read in chunks so that a mapped file may be large."""
    state = hashlib.blake2b(digest_size=DIGEST_BYTES)
    state.update(f"{array.dtype.str} {array.shape}".encode())
    step = max(1, CHUNK_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), step):
        state.update(np.ascontiguousarray(array[start : start + step]).data)
    return state.hexdigest()


def topology_hash(indptr: NDArray[Any], indices: NDArray[Any]) -> str:
    """Return the fingerprint of a topology in canonical order."""
    return text_hash([array_hash(indptr), array_hash(indices)])


def text_hash(value: Any) -> str:
    """Return the hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
