"""Whoever waits gets the next turn."""

from __future__ import annotations

import threading
import time

from memsidecar.adapters.hnsw_vectors.slice_lock import SliceLock


def test_a_waiter_is_not_overtaken_by_the_thread_that_works_in_slices() -> None:
    lock, stop, begun = SliceLock(), threading.Event(), threading.Event()
    slices = 0

    def work() -> None:
        nonlocal slices
        while not stop.is_set():
            with lock:
                slices += 1
                begun.set()
                time.sleep(0.001)

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    for _ in range(50):
        with lock:
            pass
    stop.set()
    worker.join()
    assert slices < 50 * 5  # a plain lock lets the worker have hundreds for each
