"""A mask says of every row what looking at the memories says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.meeting import meets
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.resident.filtering import matching
from tests.doubles.histories import HISTORIES, IDS, Command
from tests.services.resident.test_histories import lived, restored

_times = st.none() | st.integers(0, 30)
_shares = st.none() | st.sampled_from([0.1, 0.5, 0.7, 0.9])
_sessions = st.frozensets(st.sampled_from(["s1", "s2", "unknown"]), max_size=2)
_filters = st.builds(
    Filter,
    kinds=st.frozensets(st.sampled_from(Kind), max_size=2),
    states=st.frozensets(st.sampled_from(State), max_size=2),
    entities=st.lists(st.sampled_from(IDS), max_size=1).map(tuple),
    labels=st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=1),
    min_created=_times,
    max_created=_times,
    min_said=_times,
    max_said=_times,
    min_importance=_shares,
    min_confidence=_shares,
    sessions=_sessions,
    exclude_sessions=_sessions,
    valid_at=_times,
)
# Conditions one at a time too: all at once mostly leave nothing.
_single = st.one_of(
    st.just(Filter()),
    st.builds(Filter, kinds=st.frozensets(st.sampled_from(Kind), min_size=1, max_size=2)),
    st.builds(Filter, states=st.frozensets(st.sampled_from(State), min_size=1, max_size=2)),
    st.builds(Filter, entities=st.tuples(st.sampled_from(IDS))),
    st.builds(Filter, labels=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), min_size=1)),
    st.builds(Filter, min_created=_times, max_said=_times),
    st.builds(Filter, max_created=_times, min_said=_times),
    st.builds(Filter, min_importance=_shares),
    st.builds(Filter, sessions=_sessions),
    st.builds(Filter, exclude_sessions=_sessions),
    st.builds(Filter, valid_at=_times),
)
_scopes = st.builds(
    Scope,
    namespace=st.just("n"),
    user=st.just("u"),
    agent=st.sampled_from(["", "", "a1", "unknown"]),
    session=st.sampled_from(["", "", "s1", "unknown"]),
)


@settings(max_examples=60, deadline=None)
@given(HISTORIES, st.lists(st.tuples(_scopes, _single | _filters, st.integers(0, 45)), min_size=5, max_size=15))
def test_a_mask_is_what_the_memories_say(history: list[Command], asked: list[tuple[Scope, Filter, int]]) -> None:
    resident, naive, _ = lived(history)
    for partition in (resident, restored(resident)):
        for scope, wanted, now in asked:
            mask = matching(partition, scope, wanted, now)
            assert mask.shape == (partition.rows,)
            found = {partition.records.get(row).id for row in mask.nonzero()[0].tolist()}
            assert found == {m.id for m in naive.memories.values() if meets(m, scope, wanted, now)}
