"""Names that have led other systems to another tenant's data."""

from __future__ import annotations

import pytest
from memsidecar_client import (
    InvalidArgument,
    Memory,
    Memsidecar,
    MemsidecarError,
    Message,
    NotFound,
    Role,
    Scope,
)

from tests.e2e.process import Launch
from tests.e2e.story import ALL, vector

NAMES = (
    "acme", "acme-corp", "acme_corp", "acme%", "acme*", "Acme", "ACME", "a", "a:b", "a:b:c", "%", "_", "*", "?", "[a]",
    "x} | @user_id:{y", "' OR 1=1 --", "}) DETACH DELETE n //", "$user", "北京", "北京大学", "é", "é", "ann.", "..",
    "{acme/ann}", " ann", "ann ", "a\\b", "None", "null", "0", "users", "memories", "🙂", "x" * 256,
)  # fmt: skip
"""Of namespaces, users and sessions alike; whatever of them is refused, is refused by name."""


def test_nobody_sees_anything_of_another_tenant(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target) as client:
        taken = _tell_all(client)
        assert len(taken) > 40
        for scope, secret in taken.items():
            _look_around(client, scope, secret)
        sidecar.kill()
        sidecar.start()
        for scope, secret in list(taken.items())[::7]:
            _look_around(client, scope, secret)


def _tell_all(client: Memsidecar) -> dict[Scope, str]:
    """The scopes that were accepted, each with a secret of its own that says the same words as the others'."""
    taken: dict[Scope, str] = {}
    for number, name in enumerate(NAMES):
        for scope in (
            Scope(name, "ann", session="s"),
            Scope("acme", name, session="s"),
            Scope("tenant", "u", session=name),
        ):
            if scope in taken:
                continue
            secret = f"Charlie keeps secret {number} {len(taken)} in the vault"
            try:
                client.remember(
                    secret,
                    embedding=vector("the same for all"),
                    namespace=scope.namespace,
                    user=scope.user,
                    session=scope.session,
                )
                session = client.session(scope.session, namespace=scope.namespace, user=scope.user)
                session.create(labels={"secret": secret})
                session.append([Message(Role.USER, secret)])
                session.set_scratch({"secret": secret})
            except InvalidArgument as error:
                if not error.violations:
                    raise
                continue
            taken[scope] = secret
    return taken


def _look_around(client: Memsidecar, scope: Scope, secret: str) -> None:
    namespace, user = scope.namespace, scope.user
    listed = list(client.list_memories(ALL, page_size=1000, namespace=namespace, user=user, session=scope.session))
    assert [m.text for m in listed if m.text.startswith("Charlie keeps")] == [secret], scope
    found = client.recall(
        "Who keeps a secret in the vault?",
        embedding=vector("the same for all"),
        max_hits=200,
        namespace=namespace,
        user=user,
        session=scope.session,
    )
    assert [hit.memory.text for hit in found.hits if "keeps" in hit.memory.text] == [secret], scope
    session = client.session(scope.session, namespace=scope.namespace, user=scope.user)
    assert [m.text for m in session.messages()] == [secret], scope
    assert session.get().labels == {"secret": secret}
    assert [entry.value for entry in session.list_scratch()] == [secret]
    others = {s.name for s in client.list_sessions(namespace=scope.namespace, user=scope.user)}
    assert session.get().name in others
    if scope.user != "u":  # the one user here with more than one session
        assert len(others) == 1
    assert all(m.scope.namespace == scope.namespace and m.scope.user == scope.user for m in listed)


def test_a_name_of_another_tenant_is_not_found(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, namespace="acme", user="ann") as ann:
        mine = ann.remember("My own.").memories[0]
        theirs = mine.name.replace("namespaces/acme/users/ann", "namespaces/acme-corp/users/ann")
        for name in (theirs, mine.name.replace("/users/ann/", "/users/bob/"), mine.name.replace("/users/ann", "")):
            for call in (
                lambda name=name: ann.get_memory(name),
                lambda name=name: ann.delete_memory(name, purge=True),
                lambda name=name: ann.undelete_memory(name),
                lambda name=name: list(ann.memory_history(name)),
                lambda name=name: ann.update_memory(Memory(mine.body, name=name), fields=["fact.statement"]),
            ):
                with pytest.raises((NotFound, InvalidArgument)):
                    call()
        with pytest.raises(MemsidecarError):
            ann.recall("x", entities=[theirs])
        assert ann.get_memory(mine.name) == mine
        # An empty user is the shared partition, never everybody.
        assert list(ann.list_memories(ALL, user="")) == []
        assert ann.recall("My own", user="").hits == ()
