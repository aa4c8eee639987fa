from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.scope import Partition, Scope, parse_name, resource_name

ODD = ["/", "%", "..", ".", "%2F", "a/b", "北京", "👨‍👩‍👧", "users", "memories", "namespaces", " ", "+", "é"]
_segments = st.sampled_from(ODD) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
_users = st.just("") | _segments


@given(_segments, _users, _segments)
def test_a_name_gives_back_what_went_in(namespace: str, user: str, resource_id: str) -> None:
    name = resource_name(Partition(namespace, user), "memories", resource_id)
    assert parse_name(name, "memories") == (Partition(namespace, user), resource_id)
    assert parse_name(name, "sessions") is None


@given(st.tuples(_segments, _users, _segments), st.tuples(_segments, _users, _segments))
def test_two_resources_never_share_a_name(a: tuple[str, str, str], b: tuple[str, str, str]) -> None:
    names = [resource_name(Partition(n, u), "memories", i) for n, u, i in (a, b)]
    assert (names[0] == names[1]) == (a == b)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "namespaces/n",
        "namespaces//memories/m",
        "namespaces/n/memories/",
        "namespaces/n/users//memories/m",
        "namespaces/%6e/memories/m",
        "namespaces/n%2f/memories/m",
        "namespaces/n/memories/%ff",
        "namespaces/n/memories/%",
        "namespaces/n/memories/%zz",
        "namespaces/n/memories/a b",
        "namespaces/n/memories/北",
        "namespaces/n/memories/\ud800",
        "namespaces/n/memories/%ED%A0%80",
        "namespaces/n/memories/m/",
        "/namespaces/n/memories/m",
        "Namespaces/n/memories/m",
        "namespaces/n/users/u/memories/m/revisions/1",
    ],
)
def test_other_spellings_are_refused(name: str) -> None:
    assert parse_name(name, "memories") is None


@given(st.text(st.sampled_from("namespaces/users/memories%2F.é\ud800")))
def test_no_text_makes_parsing_fail(name: str) -> None:
    parse_name(name, "memories")


def test_a_scope_without_user_is_the_shared_partition() -> None:
    assert Scope("n", agent="a", session="s").partition == Partition("n")
    assert Partition("n").name == "namespaces/n"
