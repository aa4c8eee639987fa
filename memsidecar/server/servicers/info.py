"""InfoService."""

from __future__ import annotations

from typing import Final

from memsidecar.domain import limits
from memsidecar.server.mapping.values import set_seconds
from memsidecar.services.info import Info
from memsidecar.v1 import info_service_pb2 as pb

API_VERSIONS: Final = ("memsidecar.v1",)
CAPABILITIES: Final = ("recall_during", "watch", "conflicts", "extraction", "jobs")


class InfoServicer:
    def __init__(self, info: Info, heartbeat: float) -> None:
        """`heartbeat`: seconds after which a silent stream shows that it is alive."""
        self._info, self._heartbeat = info, heartbeat

    async def GetServerInfo(self, request: pb.GetServerInfoRequest) -> pb.GetServerInfoResponse:  # noqa: N802
        info = self._info()
        response = pb.GetServerInfoResponse(
            version=info.version,
            api_versions=API_VERSIONS,
            capabilities=CAPABILITIES,
            tokenizers=info.tokenizers,
            max_message_bytes=limits.MAX_MESSAGE_BYTES,
            max_batch_items=limits.MAX_BATCH_ITEMS,
            embedding_model=info.embedding_model,
            embedding_dimension=info.embedding_dimensions,
            default_namespace=info.default_namespace,
            max_text_bytes=limits.MAX_TEXT_BYTES,
            max_page_size=limits.MAX_PAGE_SIZE,
            max_hits=limits.MAX_HITS,
            graph_engine=info.graph_engine,
        )
        set_seconds(response.heartbeat_interval, self._heartbeat)
        return response
