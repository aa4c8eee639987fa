"""A mask says of every row what looking at the memories says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.decision import Decision
from memsidecar.domain.events import Change, MemoryRecorded
from memsidecar.domain.fold import apply
from memsidecar.domain.meeting import meets
from memsidecar.domain.memory import Fact, Kind, Memory, State
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.resident.filtering import matching
from tests.doubles.histories import COMMANDS, HISTORIES, IDS, Command
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


@dataclass(frozen=True)
class Retire:
    """What a conflict does to its loser, now or at a time that is known."""

    memory_id: str
    at: int | None
    valid_to: int | None

    def __call__(self, decision: Decision) -> None:
        memory = decision.view.memory(self.memory_id)
        if memory is not None and memory.state is not State.DELETED:
            loser = replace(
                memory,
                state=State.SUPERSEDED,
                superseded_at=self.at,
                valid_to=self.valid_to,
                version=memory.version + 1,
            )
            decision.record(MemoryRecorded(Change.SUPERSEDED, loser))


_retired = st.lists(
    COMMANDS | st.builds(Retire, st.sampled_from(IDS), st.none() | st.integers(0, 40), _times), min_size=5, max_size=25
)
_at = st.integers(0, 45)


@settings(max_examples=60, deadline=None)
@given(_retired, st.lists(st.tuples(_scopes, _single | _filters, _at, _at), min_size=5, max_size=15))
def test_what_is_superseded_at_a_time_is_active_until_then(
    history: list[Command], asked: list[tuple[Scope, Filter, int, int]]
) -> None:
    resident, naive, _ = lived(history)
    for partition in (resident, restored(resident)):
        for scope, wanted, now, known in asked:
            mask = matching(partition, scope, wanted, now, known)
            found = {partition.records.get(row).id for row in mask.nonzero()[0].tolist()}
            assert found == {m.id for m in naive.memories.values() if meets(m, scope, wanted, now, known)}


def test_a_question_from_before_a_superseding_does_not_bring_back_what_was_superseded() -> None:
    remembered = Scope("n", "u")
    old = Memory("c0", remembered, Fact("Robin lives in Rome"), 1, 1)
    resident, _, _ = lived([])
    gone = replace(old, state=State.SUPERSEDED, superseded_at=100, valid_to=90)
    resident.apply(apply(MemoryRecorded(Change.SUPERSEDED, gone)))
    assert not matching(resident, remembered, Filter(), 50, 200).any()
    assert matching(resident, remembered, Filter(), 50, 60).all()
    assert matching(resident, remembered, Filter(valid_at=80), 200).all()
    assert not matching(resident, remembered, Filter(valid_at=90), 200).any()
