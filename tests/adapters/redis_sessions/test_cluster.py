"""Three nodes that share the slots: every script must stay within one of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.crc import key_slot

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.scope import Partition
from memsidecar.ports.sessions import SessionStore
from tests.contracts import test_session_messages as messages
from tests.contracts import test_session_scratch as scratch
from tests.contracts import test_session_store as sessions
from tests.contracts.session_values import a_session, started
from tests.session_servers import RunningServer, until

SLOTS = 16384
NODES = 3

CASES = [
    sessions.test_a_created_session_is_read_back_as_it_is,
    sessions.test_creating_again_with_the_request_id_gives_the_session,
    sessions.test_everything_about_a_session_that_does_not_exist_is_not_found,
    sessions.test_an_expired_session_is_gone_with_all_it_held,
    messages.test_messages_come_back_with_every_field,
    messages.test_a_long_transcript_loses_its_oldest_messages_and_no_seq,
    messages.test_a_repeated_append_gives_the_first_result_and_stores_once,
    messages.test_two_writers_lose_and_reorder_nothing,
    sessions.test_an_update_changes_what_it_names,
    sessions.test_an_ended_session_can_be_read_but_not_written,
    sessions.test_a_deleted_session_leaves_nothing_to_its_successor,
    sessions.test_sessions_are_listed_in_the_order_of_their_ids,
    sessions.test_expired_sessions_do_not_end_a_page_early,
    scratch.test_scratch_keys_hold_any_character,
    scratch.test_scratch_is_bounded_in_entries,
    sessions.test_a_live_store_passes_its_check,
]


def free_ports() -> list[int]:
    """Ports below 55536: the nodes talk to each other on that number plus 10000."""
    ports: list[int] = []
    for port in range(21000, 31000):
        with socket.socket() as one, socket.socket() as bus:
            try:
                one.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            ports.append(port)
        if len(ports) == NODES:
            return ports
    raise AssertionError("no free ports")


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ExitStack() as stack:
        ports = free_ports()
        for port in ports:
            directory: Path = tmp_path_factory.mktemp("node")
            options = {"cluster_enabled": "yes", "cluster_node_timeout": "2000"}
            stack.enter_context(RunningServer(directory, port, **options))
        nodes = [stack.enter_context(Redis(port=port, decode_responses=True)) for port in ports]
        bounds = [SLOTS * number // NODES for number in range(NODES + 1)]
        for number, node in enumerate(nodes):
            command(node, "SET-CONFIG-EPOCH", number + 1)
            command(node, "ADDSLOTS", *range(bounds[number], bounds[number + 1]))
            command(nodes[0], "MEET", "127.0.0.1", ports[number])
        asyncio.run(all_agree(nodes))
        yield f"redis+cluster://127.0.0.1:{ports[0]}"


def command(node: Redis, *args: str | int) -> Any:
    return node.execute_command("CLUSTER", *args)  # type: ignore[no-untyped-call]


async def all_agree(nodes: list[Redis]) -> None:
    async def agreed() -> bool:
        infos = [str(command(node, "INFO")) for node in nodes]
        views = [len(command(node, "SLOTS")) for node in nodes]
        return views == [NODES] * NODES and all("cluster_state:ok" in info for info in infos)

    await until(agreed)


@pytest.fixture
async def clustered(cluster_url: str) -> AsyncIterator[SessionStore]:
    settings = RedisSettings(
        cluster_url, max_messages=50, max_pinned=5, max_scratch_entries=20, max_scratch_bytes=4096, max_connections=4
    )
    store = RedisSessions.connect(settings)
    yield store
    await store.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("test_"))
async def test_a_cluster_keeps_the_promise(clustered: SessionStore, case: object) -> None:
    await case(clustered)  # type: ignore[operator]


async def test_sessions_spread_over_the_nodes(clustered: SessionStore) -> None:
    partition = Partition("spread", "u")
    for number in range(30):
        await started(clustered, a_session(f"s{number}", partition))
    assert len(await clustered.list(partition, "", 100)) == 30
    slots = {key_slot(f"ms1:{{spread/u/s{number}}}:meta".encode()) * NODES // SLOTS for number in range(30)}
    assert slots == {0, 1, 2}
