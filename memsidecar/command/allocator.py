"""How the C library's allocator keeps what is freed, set before there are threads."""

from __future__ import annotations

import ctypes
import os

# (number in glibc's malloc.h, the environment variable that says the same, value). Each thread of the engines and pools
# would get a heap of its own, and after a load of 100,000 memories as much lay free in these as they held: one heap
# serves all, since the interpreter lets one thread allocate at a time anyway. Large blocks get pages of their own, so
# that freeing them gives the pages back; left to itself glibc stops doing so once it has seen one freed.
_OPTIONS = (
    (-8, "MALLOC_ARENA_MAX", 1),
    (-3, "MALLOC_MMAP_THRESHOLD_", 1 << 20),
    (-1, "MALLOC_TRIM_THRESHOLD_", 16 << 20),
)


def share_one_heap() -> None:
    """What the environment sets stays. Nothing happens where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for option, variable, value in _OPTIONS:
        if variable not in os.environ:
            mallopt(option, value)
