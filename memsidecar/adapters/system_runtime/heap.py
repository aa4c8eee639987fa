"""The C library's heap, kept from holding on to what was freed."""

from __future__ import annotations

import ctypes
import sys

# <malloc.h> of glibc.
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_OWN_PAGES = 1 << 20


def keep_heaps_few() -> None:
    """Call before threads start. Elsewhere than with glibc it does nothing.

    By default every thread has a heap of its own, and what one large write leaves behind in each stays with the
    process: storing 100,000 memories left 700 MB. Blocks of a megabyte get pages of their own, which go back.
    """
    if sys.platform == "linux" and (tune := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        tune(_M_ARENA_MAX, 2)
        tune(_M_MMAP_THRESHOLD, _OWN_PAGES)
