"""What an operator may say about conflicts, attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memsidecar.domain.attributes import ATTRIBUTES, Cardinality
from memsidecar.domain.conflict import Policy

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
        listed = self.cardinalities.get(attribute)
        if listed is None and (known := ATTRIBUTES.get(attribute)) is not None:
            return known.cardinality
        return listed


DEFAULT_RULES = ConflictRules()
