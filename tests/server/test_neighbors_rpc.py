"""ListNeighbors over the API, on the real parts."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from memsidecar.v1 import knowledge_service_pb2
from tests.server.api import Api, refused
from tests.server.knowing import tell, when

# Fields are given as plain dicts.
pb: Any = knowledge_service_pb2


@pytest.fixture
def real(line: grpc.aio.Channel) -> Api:
    return Api(line)


async def near(api: Api, name: str, **asked: Any) -> list[tuple[str, str, int]]:
    """(relation, text, depth) over all pages of one each."""
    found: list[tuple[str, str, int]] = []
    request = pb.ListNeighborsRequest(memory=name, page_size=1, **asked)
    while True:
        response = await api.knowledge.ListNeighbors(request)
        found += [(n.relation, n.memory.fact.text or n.memory.entity.display_name, n.depth) for n in response.neighbors]
        if not response.next_page_token:
            return found
        request.page_token = response.next_page_token


async def test_what_a_memory_took_the_place_of_is_its_neighbour(real: Api) -> None:
    north, south = [(await tell(real, value, since=day)).memory.name for value, day in (("north", 100), ("south", 200))]
    assert await near(real, south, relations=["SUPERSEDES"]) == [("SUPERSEDES", "north", 1)]
    assert await near(real, north) == [("SUPERSEDES", "south", 1)]
    assert await near(real, south) == [], "what it took the place of is true no longer"
    assert await near(real, south, as_of=when(valid=150)) == [("SUPERSEDES", "north", 1)]


async def test_both_sides_of_an_open_conflict_are_neighbours(real: Api) -> None:
    north = (await tell(real, "north", since=100)).memory.name
    south = (await tell(real, "south", since=200, policy=3)).memory.name
    assert await near(real, south, max_depth=3) == [("CONTRADICTS", "north", 1)]
    assert await near(real, north, relations=["CONTRADICTS"]) == [("CONTRADICTS", "south", 1)]


async def test_neighbours_are_of_one_tenant_and_of_what_is_there(real: Api) -> None:
    name = (await tell(real, "north")).memory.name
    for stranger in (name.replace("users/ann", "users/ben"), f"{name}x"):
        assert (await refused(real.knowledge.ListNeighbors(pb.ListNeighborsRequest(memory=stranger)))).fields == {}
    for wrong, field in (({"max_depth": 4}, "max_depth"), ({"relations": ["LIKES"]}, "relations[0]")):
        error = await refused(real.knowledge.ListNeighbors(pb.ListNeighborsRequest(memory=name, **wrong)))
        assert set(error.fields) == {field}
