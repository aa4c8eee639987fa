"""Revisions of another history are refused, however far this one has come."""

from __future__ import annotations

import pytest

from memsidecar.domain.errors import RevisionUnknown
from memsidecar.domain.revision import revision_token as token_of
from memsidecar.domain.scope import Partition
from memsidecar.server.paging import Page
from memsidecar.server.tokens import read_revision, revision_token, serve_history
from memsidecar.server.validation import Violations
from memsidecar.v1 import memory_service_pb2 as pb

ANN = Partition("home", "ann")


@pytest.mark.parametrize("history", [0, 1, 2**62])
def test_a_revision_is_one_of_the_history_that_gave_it(history: int) -> None:
    serve_history(history)
    given = revision_token(ANN, 7)
    assert read_revision(given, ANN, "after", Violations()) == 7
    for other in {0, 1, 2**62} - {history}:
        serve_history(other)
        with pytest.raises(RevisionUnknown, match="after is no revision of this store"):
            read_revision(given, ANN, "after", Violations())


def test_a_store_of_an_early_release_takes_its_own_tokens() -> None:
    serve_history(0)
    assert read_revision(token_of(ANN, 7), ANN, "options.min_revision", Violations()) == 7
    assert read_revision("", ANN, "after", Violations()) is None


def test_what_is_no_token_is_a_wrong_field() -> None:
    violations = Violations()
    assert read_revision("nonsense", ANN, "after", violations) is None
    assert [path for path, _ in violations.found] == ["after.token"]


def test_a_page_goes_on_in_its_own_history_only() -> None:
    serve_history(1)
    request = pb.ListMemoriesRequest(page_token=Page(pb.ListMemoriesRequest()).token(7))
    assert Page(request).position(Violations()) == 7
    serve_history(2)
    violations = Violations()
    assert Page(request).position(violations) is None
    assert violations.found
