"""Protobuf messages to domain values and back. Pure, and fast: a recall maps ten memories while an agent waits."""
