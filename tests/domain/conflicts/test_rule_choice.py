from __future__ import annotations

import pytest

from memsidecar.domain.attributes import Cardinality
from memsidecar.domain.conflict import Policy
from memsidecar.domain.conflicts.rule_choice import read_rules
from memsidecar.domain.conflicts.rules import DEFAULT_RULES
from memsidecar.domain.errors import InvalidField


def test_nothing_configured_is_the_default_everywhere() -> None:
    choice = read_rules("auto", "", "", "")
    assert choice.of("acme") == choice.usual == DEFAULT_RULES


def test_attributes_have_policies_in_any_of_their_spellings() -> None:
    rules = read_rules("flag", "Lives In=ask, shoe size = keep_both, quantity:km=reject", "", "").usual
    assert rules.policy("lives_in") is Policy.ASK
    assert rules.policy("shoe size") is Policy.KEEP_BOTH
    assert rules.policy("quantity:km") is Policy.REJECT
    assert rules.policy("employer") is Policy.FLAG
    assert rules.policy("lives_in", Policy.SUPERSEDE) is Policy.SUPERSEDE


def test_a_namespace_keeps_what_is_of_all_and_adds_its_own() -> None:
    choice = read_rules("auto", "lives_in=ask; acme: employer=flag; 团队: *=reject, likes=keep_both", "", "")
    acme, team = choice.of("acme"), choice.of("团队")
    assert (acme.policy("lives_in"), acme.policy("employer"), acme.default) == (Policy.ASK, Policy.FLAG, Policy.AUTO)
    assert (team.policy("lives_in"), team.policy("likes")) == (Policy.REJECT, Policy.KEEP_BOTH)
    assert choice.of("other").policies == {"lives_in": Policy.ASK}


def test_attributes_may_have_another_number_of_values() -> None:
    choice = read_rules("auto", "", "hobby; acme: pet", "lives_in; acme: hobby")
    assert choice.usual.cardinality("hobby") is Cardinality.SINGLE
    assert choice.usual.cardinality("lives_in") is Cardinality.MULTI
    assert choice.of("acme").cardinality("hobby") is Cardinality.MULTI
    assert choice.of("acme").cardinality("pet") is Cardinality.SINGLE
    assert choice.of("acme").cardinality("lives_in") is Cardinality.MULTI


@pytest.mark.parametrize(
    ("policy", "policies", "single", "multi", "key"),
    [
        ("sometimes", "", "", "", "conflicts.policy"),
        ("auto", "lives_in", "", "", "conflicts.policies"),
        ("auto", "=ask", "", "", "conflicts.policies"),
        ("auto", "lives_in=sometimes", "", "", "conflicts.policies"),
        ("auto", "acme: lives_in", "", "", "conflicts.policies"),
        ("auto", "", "lives_in=1", "", "conflicts.single"),
        ("auto", "", "*", "", "conflicts.single"),
        ("auto", "", "pet", "pet", "conflicts.multi"),
    ],
)
def test_what_is_wrong_names_its_setting(policy: str, policies: str, single: str, multi: str, key: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read_rules(policy, policies, single, multi)
    assert caught.value.violations[0][0] == key
