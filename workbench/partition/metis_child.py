"""The child process of the METIS partitioner: ``python metis_child.py FOLDER`` (see child.py for the protocol).

It imports pymetis and NumPy alone, so that it starts in a fraction of a second.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, so that a killed kernel leaves nothing behind."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig, sigkill = 1, 9
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, sigkill)


def partition_folder(folder: Path) -> None:
    """Partition the graph that lies in `folder` and write the result beside it."""
    import numpy as np
    import pymetis

    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    arrays = {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
    width = pymetis.zero_copy_dtype() if hasattr(pymetis, "zero_copy_dtype") else np.dtype(np.int32)
    if len(arrays["adjacent"]) > np.iinfo(width).max:
        sys.exit(f"this build of METIS counts edges in {width.itemsize * 8} bits; the graph has more")
    starts, adjacent = (np.ascontiguousarray(arrays[key], dtype=width) for key in ("starts", "adjacent"))
    weights = {
        keyword: np.ascontiguousarray(arrays[key], dtype=width)
        for key, keyword in (("node_weights", "vweights"), ("edge_weights", "eweights"))
        if key in arrays
    }
    if hasattr(pymetis, "CSRAdjacency"):
        weights["adjacency"] = pymetis.CSRAdjacency(starts, adjacent)
    else:
        weights |= {"xadj": starts, "adjncy": adjacent}
    options = pymetis.Options(**job["metis_options"])
    start = time.perf_counter()
    _, parts = pymetis.part_graph(job["num_parts"], options=options, recursive=job["recursive"], **weights)
    elapsed_s = time.perf_counter() - start
    np.save(folder / "assignment.npy", np.asarray(parts, dtype=np.int64))
    (folder / "result.json").write_text(json.dumps({"elapsed_s": elapsed_s}))


if __name__ == "__main__":
    die_with_parent()
    partition_folder(Path(sys.argv[1]))
