"""Conflict rules as configuration writes them: one line each, for files, flags and variables alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memsidecar.domain.attributes import Cardinality, attribute_of
from memsidecar.domain.conflict import Policy
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.text import normalise

ALL = "*"
"""Stands for every attribute."""

_POLICIES = {policy.name.lower(): policy for policy in Policy}
# "acme: ..." is of a namespace; a colon inside a name ("quantity:km") has no space after it.
_NAMESPACE = re.compile(r"([^=]*?):\s(.*)", re.DOTALL)
# Namespace ("" is all of them) -> attribute -> what is said of it.
_Policies = dict[str, dict[str, Policy]]
_Cardinalities = dict[str, dict[str, Cardinality]]


@dataclass(frozen=True, slots=True)
class RuleChoice:
    """The rules of namespaces that have their own, and those of the others."""

    usual: ConflictRules
    of_namespace: Mapping[str, ConflictRules]

    def of(self, namespace: str) -> ConflictRules:
        return self.of_namespace.get(namespace, self.usual)


DEFAULT_RULE_CHOICE = RuleChoice(DEFAULT_RULES, {})


def read_rules(policy: str, policies: str, single: str, multi: str) -> RuleChoice:
    """`policy` is the one of all that is not named. `policies`: "lives_in=ask, likes=keep_both; acme: *=reject", and
    `single` and `multi`: "pet, hobby; acme: likes", where what is of a namespace goes before what is of all.

    Raises InvalidField with the setting's key.
    """
    usual = _policy(policy, "conflicts.policy")
    chosen = _read_policies(policies)
    counts = _read_cardinalities(single, multi)
    made = {name: _rules(usual, chosen, counts, name) for name in {*chosen, *counts} if name}
    return RuleChoice(_rules(usual, chosen, counts, ""), made)


def _rules(usual: Policy, chosen: _Policies, counts: _Cardinalities, namespace: str) -> ConflictRules:
    everywhere, own = dict(chosen.get("", {})), dict(chosen.get(namespace, {}))
    default = everywhere.pop(ALL, usual)
    if ALL in own:
        # What a namespace says of all attributes is said of those that are named elsewhere, too.
        default, everywhere = own.pop(ALL), {}
    cardinalities = {**counts.get("", {}), **counts.get(namespace, {})}
    return ConflictRules(default, {**everywhere, **own}, cardinalities)


def _read_policies(text: str) -> _Policies:
    found: _Policies = {}
    for namespace, pair in _entries(text):
        name, equals, policy = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidField("conflicts.policies", f'has "{pair}", which is not "attribute=policy"')
        found.setdefault(namespace, {})[_attribute(name)] = _policy(policy.strip(), "conflicts.policies")
    return found


def _read_cardinalities(single: str, multi: str) -> _Cardinalities:
    found: _Cardinalities = {}
    for key, text, cardinality in (
        ("conflicts.single", single, Cardinality.SINGLE),
        ("conflicts.multi", multi, Cardinality.MULTI),
    ):
        for namespace, name in _entries(text):
            if "=" in name or name == ALL:
                raise InvalidField(key, f'has "{name}", which is not the name of an attribute')
            of = found.setdefault(namespace, {})
            if of.setdefault(_attribute(name), cardinality) is not cardinality:
                raise InvalidField(key, f'has "{name}", which is in conflicts.single as well')
    return found


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """(namespace, entry) of "a, b; acme: c"."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        named = _NAMESPACE.fullmatch(part)
        namespace, entries = (named[1].strip(), named[2]) if named is not None else ("", part)
        for entry in filter(None, (entry.strip() for entry in entries.split(","))):
            yield namespace, entry


def _attribute(name: str) -> str:
    """The key under which the rules know an attribute, in any of its spellings."""
    name = name.strip()
    known = attribute_of(name)
    return known.key if known is not None else normalise(name)


def _policy(name: str, key: str) -> Policy:
    if name not in _POLICIES:
        raise InvalidField(key, f'names the policy "{name}"; there are {", ".join(_POLICIES)}')
    return _POLICIES[name]
