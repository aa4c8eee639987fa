"""Events and memories as protobuf bytes; the only reader and writer of the stored format."""

from memsidecar.adapters.event_codec.codec import ProtobufEventCodec

__all__ = ["ProtobufEventCodec"]
