"""What a client can ask a server about itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Version, limits and capabilities. `capabilities` names what the server can do beyond the first release."""

    version: str
    api_versions: tuple[str, ...]
    capabilities: frozenset[str]
    tokenizers: tuple[str, ...]
    default_namespace: str
    embedding_model: str
    embedding_dimension: int
    graph_engine: str
    max_message_bytes: int
    max_batch_items: int
    max_text_bytes: int
    max_page_size: int
    max_hits: int
    heartbeat_interval: timedelta
