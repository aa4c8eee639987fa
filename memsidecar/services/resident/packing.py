"""Strings and postings as flat arrays, for snapshots."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Postings = Mapping[str, "array[int]"]


def pack_strings(strings: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(f"{_escape(s)}\n" for s in strings).encode(), dtype=np.uint8)


def unpack_strings(packed: NDArray[np.generic]) -> list[str]:
    joined = packed.tobytes().decode()
    strings = joined.split("\n")[:-1]
    return [_unescape(s) for s in strings] if "\\" in joined else strings


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


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _unescape(text: str) -> str:
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
