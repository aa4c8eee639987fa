"""What an operator may say about conflicts, attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memsidecar.domain.attributes import ATTRIBUTES, Cardinality
from memsidecar.domain.conflict import Policy
from memsidecar.domain.slots import EXPERIENCE, PREFERENCE, Slot, single_valued

_NO_POLICIES: Mapping[str, Policy] = MappingProxyType({})
_NO_CARDINALITIES: Mapping[str, Cardinality] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConflictRules:
    """`policies` and `cardinalities` are by the attribute's key, and go before the table of attributes."""

    default: Policy = Policy.AUTO
    policies: Mapping[str, Policy] = field(default_factory=lambda: _NO_POLICIES)
    cardinalities: Mapping[str, Cardinality] = field(default_factory=lambda: _NO_CARDINALITIES)

    def policy(self, attribute: str, asked: Policy | None = None) -> Policy:
        """What a contradiction leads to: what the write asks for, else the attribute's, else the default."""
        return asked or self.policies.get(attribute, self.default)

    def cardinality(self, attribute: str) -> Cardinality | None:
        """How many values a slot of it has at a time; None when nobody has said."""
        known = ATTRIBUTES.get(attribute)
        return self.cardinalities.get(attribute, known.cardinality if known is not None else None)

    def single(self, slot: Slot) -> bool | None:
        """Whether a slot has one value at a time; None for an attribute that nobody has listed."""
        configured = self.cardinalities.get(slot.family)
        if configured is not None:
            return configured is Cardinality.SINGLE
        if single_valued(slot):
            return True
        listed = slot.family in ATTRIBUTES or slot.family == EXPERIENCE or slot.family.startswith(f"{PREFERENCE}:")
        return False if listed else None


DEFAULT_RULES = ConflictRules()
