"""What protobuf's descriptors say, the same on every protobuf from 4.25 to 7."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor


def is_repeated(field: Any) -> bool:
    """Whether a field holds many values; maps are among them."""
    # protobuf 7 warns of `label`, and before 6.31 there was nothing else.
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
    return bool(repeated)


def is_map(field: Any) -> bool:
    return field.type == FieldDescriptor.TYPE_MESSAGE and bool(field.message_type.GetOptions().map_entry)
