"""Attributes that a claim can be about, and how many values each can have at a time."""

from __future__ import annotations

from enum import IntEnum


class Cardinality(IntEnum):
    """How many values a slot has at a time."""

    SINGLE = 1
    MULTI = 2
