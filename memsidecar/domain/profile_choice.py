"""Ranking profiles as configuration writes them: one line each, for files, flags and variables alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memsidecar.domain.errors import InvalidField
from memsidecar.domain.profile import PROFILES, Profile, with_weights


@dataclass(frozen=True, slots=True)
class Choice:
    """The profiles by name, that of namespaces that name none, and those of the others."""

    profiles: Mapping[str, Profile]
    usual: Profile
    of_namespace: Mapping[str, Profile]


def read_choice(profiles: str, usual: str, namespaces: str) -> Choice:
    """`profiles`: "calm: session=0 neighbour=0.1; latest: freshness=0.5", each on top of the default profile (or of the
    built-in one of that name). `namespaces`: "acme=calm, other=latest".

    Raises InvalidField with the setting's key.
    """
    known = dict(PROFILES)
    for part in filter(None, (part.strip() for part in profiles.split(";"))):
        name, colon, weights = part.partition(":")
        if not colon or not name.strip():
            raise InvalidField("ranking.profiles", f'has "{part}", which is not "name: weight=number ..."')
        known[name.strip()] = with_weights(
            known.get(name.strip(), known["default"]), _weights(weights), "ranking.profiles"
        )
    chosen = {}
    for part in filter(None, (part.strip() for part in namespaces.split(","))):
        namespace, equals, name = part.partition("=")
        if not equals or not namespace.strip():
            raise InvalidField("ranking.namespaces", f'has "{part}", which is not "namespace=profile"')
        chosen[namespace.strip()] = _named(known, name.strip(), "ranking.namespaces")
    return Choice(known, _named(known, usual, "ranking.profile"), chosen)


def _weights(text: str) -> dict[str, float]:
    weights = {}
    for pair in text.replace(",", " ").split():
        name, _, number = pair.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            raise InvalidField("ranking.profiles", f'has "{pair}", which is not weight=number') from None
    return weights


def _named(known: Mapping[str, Profile], name: str, key: str) -> Profile:
    if name not in known:
        raise InvalidField(key, f'names the profile "{name}"; there are {", ".join(sorted(known))}')
    return known[name]
