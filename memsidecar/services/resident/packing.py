"""Strings and postings as flat arrays, for snapshots."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def pack_strings(strings: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(list(strings), ensure_ascii=False).encode(), dtype=np.uint8)


def unpack_strings(packed: NDArray[np.generic]) -> list[str]:
    strings: list[str] = json.loads(packed.tobytes())
    return strings


def pack_rows(lists: Sequence[array[int]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(their lengths, all of their rows)."""
    sizes = np.fromiter(map(len, lists), dtype=np.uint32, count=len(lists))
    return sizes, np.frombuffer(b"".join(lists), dtype=np.uint32)


def unpack_rows(sizes: NDArray[np.generic], rows: NDArray[np.generic]) -> list[array[int]]:
    data, start = rows.astype(np.uint32).tobytes(), 0
    lists = []
    for size in sizes.tolist():
        lists.append(array("I", data[start : start + 4 * size]))
        start += 4 * size
    return lists
