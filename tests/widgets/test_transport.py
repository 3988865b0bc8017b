import numpy as np
import pytest

from workbench.widgets.transport import encode


def test_json_values_stay_and_arrays_become_buffers() -> None:
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    content, buffers = encode({"name": "a", "none": None, "flag": np.bool_(True), "n": np.int64(3), "rows": (1, array)})
    assert content == {
        "name": "a",
        "none": None,
        "flag": True,
        "n": 3,
        "rows": [1, {"$array": 0, "dtype": "float32", "shape": [3, 2]}],
    }
    assert bytes(buffers[0]) == array.tobytes()


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([1, -1], np.int64), "int32"),
        (np.array([2**40], np.int64), "float64"),
        (np.array([], np.int64), "int32"),
        (np.array([True, False]), "uint8"),
        (np.arange(10, dtype=np.float64)[::2], "float64"),
        (np.arange(3, dtype=">i4"), "int32"),
        (np.float16([1.5]), "float32"),
    ],
)
def test_arrays_keep_their_values_in_a_type_that_browsers_have(array: np.ndarray, dtype: str) -> None:
    content, buffers = encode(array)
    assert content["dtype"] == dtype
    assert np.frombuffer(buffers[0], dtype).tolist() == array.tolist()


def test_read_only_and_memory_mapped_arrays_travel(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    _, buffers = encode({"a": mapped})
    assert np.frombuffer(buffers[0]).tolist() == [0, 1, 2, 3]


def test_what_json_lacks_becomes_null() -> None:
    assert encode([float("nan"), float("inf"), 1.5])[0] == [None, None, 1.5]


def test_what_cannot_travel_is_named() -> None:
    with pytest.raises(TypeError, match="set cannot travel"):
        encode({1, 2})
    with pytest.raises(TypeError, match="array of complex128"):
        encode(np.array([1j]))
