from __future__ import annotations

import pytest

from memsidecar.domain.errors import InvalidField
from memsidecar.domain.profile import PROFILES
from memsidecar.domain.profile_choice import read_choice


def test_nothing_configured_is_the_default_everywhere() -> None:
    choice = read_choice("", "default", "")
    assert choice.usual == PROFILES["default"]
    assert not choice.of_namespace
    assert choice.profiles == PROFILES


def test_profiles_change_weights_and_namespaces_choose_them() -> None:
    choice = read_choice("calm: session=0 neighbour=0.1; recent: importance=0.1;", "calm", " acme = recent, b=default,")
    assert (choice.usual.session, choice.usual.neighbour) == (0.0, 0.1)
    assert choice.of_namespace["acme"].importance == 0.1
    assert choice.of_namespace["acme"].freshness == PROFILES["recent"].freshness
    assert choice.of_namespace["b"] == PROFILES["default"]


@pytest.mark.parametrize(
    ("profiles", "usual", "namespaces", "key"),
    [
        ("calm session=0", "default", "", "ranking.profiles"),
        (": session=0", "default", "", "ranking.profiles"),
        ("calm: session", "default", "", "ranking.profiles"),
        ("calm: session=much", "default", "", "ranking.profiles"),
        ("calm: sessions=1", "default", "", "ranking.profiles"),
        ("", "calm", "", "ranking.profile"),
        ("", "default", "acme=calm", "ranking.namespaces"),
        ("", "default", "acme", "ranking.namespaces"),
        ("", "default", "=default", "ranking.namespaces"),
    ],
)
def test_what_is_wrong_names_its_setting(profiles: str, usual: str, namespaces: str, key: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read_choice(profiles, usual, namespaces)
    assert caught.value.violations[0][0].startswith(key)
