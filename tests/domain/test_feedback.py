from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.events import Change, Event, FeedbackGiven, MemoryPurged, MemoryRecorded
from memsidecar.domain.feedback import NO_FEEDBACK, Feedback, Verdict
from memsidecar.domain.feedback_rules import Judged, give_feedback
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.profile import Profile
from memsidecar.domain.ranking import Signals, rank
from memsidecar.domain.scope import Partition, Scope
from tests.doubles.naive_partition import NaivePartition

ANN = Scope("acme", "ann")
_counts = st.integers(0, 10_000)
_feedback = st.builds(Feedback, _counts, _counts, _counts)


@given(_feedback)
def test_usefulness_stays_between_its_ends(feedback: Feedback) -> None:
    assert -1 < feedback.usefulness < 1


@given(_feedback)
def test_praise_never_harms_and_blame_never_helps(feedback: Feedback) -> None:
    assert feedback.plus(Verdict.USED).usefulness > feedback.usefulness
    assert feedback.plus(Verdict.WRONG).usefulness < feedback.usefulness


def test_usefulness_is_the_mean_verdict_of_a_memory_taken_to_be_neither() -> None:
    assert NO_FEEDBACK.usefulness == 0
    assert Feedback(used=1).usefulness == pytest.approx(1 / 5)
    assert Feedback(ignored=1).usefulness == pytest.approx(-1 / 20)
    assert Feedback(wrong=1).usefulness == pytest.approx(-1 / 3)
    assert Feedback(used=96).usefulness == pytest.approx(0.96)
    # Used half of the time is better than never, and less good than always.
    assert Feedback(used=5).usefulness > Feedback(used=5, ignored=5).usefulness > 0


def _signals(cosines: list[float], usefulness: list[float]) -> Signals:
    nothing = np.zeros(len(cosines), dtype=np.float32)
    return Signals(
        keyword=nothing,
        cosine=np.array(cosines, dtype=np.float32),
        said=np.zeros(len(cosines), dtype=np.int64),
        importance=nothing,
        confidence=nothing,
        usefulness=np.array(usefulness, dtype=np.float32),
        accesses=np.zeros(len(cosines), dtype=np.uint32),
    )


_share = st.floats(0, 1)


@given(_share, st.floats(0, 0.8), _feedback, _feedback)
def test_no_feedback_lifts_a_memory_over_a_clearly_more_relevant_one(
    relevance: float, part: float, praise: Feedback, blame: Feedback
) -> None:
    signals = _signals([relevance, relevance * part], [blame.usefulness, praise.usefulness])
    better, worse = rank(signals, Profile(freshness=0.0), 0).scores.tolist()
    assert better >= worse


def test_an_irrelevant_memory_gains_nothing_by_praise() -> None:
    plain, praised = rank(_signals([0.0, 0.0], [0.0, 1.0]), Profile(), 0).scores.tolist()
    assert praised == plain


def test_of_equals_the_useful_one_comes_first() -> None:
    blamed, plain, praised = rank(_signals([0.5] * 3, [-0.3, 0.0, 0.2]), Profile(), 0).scores.tolist()
    assert blamed < plain < praised


def world(*memories: tuple[str, Scope]) -> NaivePartition:
    partition = NaivePartition()
    for memory_id, scope in memories:
        partition.apply(MemoryRecorded(Change.CREATED, Memory(memory_id, scope, Fact(memory_id), 0, 0)))
    return partition


def judge(view: NaivePartition, scope: Scope, *judged: tuple[str, Verdict]) -> list[Event]:
    decision = Decision.on(view, Partition("acme", "ann"), 0, lambda: "x", Request(actor="planner"))
    give_feedback(decision, scope, [Judged(i, v, f"items[{n}].memory") for n, (i, v) in enumerate(judged)])
    return decision.events


def test_an_event_holds_all_verdicts_so_far() -> None:
    view = world(("a", ANN))
    for verdict in (Verdict.USED, Verdict.WRONG, Verdict.USED):
        (event,) = judge(view, ANN, ("a", verdict))
        view.apply(event)
    assert event == FeedbackGiven("a", Verdict.USED, Feedback(used=2, wrong=1), "planner")


def test_one_unknown_memory_refuses_them_all_by_name() -> None:
    view = world(("a", ANN))
    with pytest.raises(InvalidField) as caught:
        judge(view, ANN, ("a", Verdict.USED), ("gone", Verdict.USED), ("never", Verdict.WRONG))
    assert [field for field, _ in caught.value.violations] == ["items[1].memory", "items[2].memory"]


@pytest.mark.parametrize(
    ("memory", "request_scope", "accepted"),
    [
        (Scope("acme", "ann", "a1", "s1"), ANN, True),
        (Scope("acme", "ann", "a1"), Scope("acme", "ann", "a1"), True),
        (ANN, Scope("acme", "ann", "a1"), True),
        (Scope("acme", "ann", "a2"), Scope("acme", "ann", "a1"), False),
        (Scope("acme", "ann", "", "s1"), Scope("acme", "ann", "", "s1"), True),
        (Scope("acme", "ann", "", "s2"), Scope("acme", "ann", "", "s1"), False),
        (ANN, Scope("acme", "ann", "", "s1"), False),
    ],
)
def test_only_what_a_recall_in_the_scope_returns_may_be_judged(
    memory: Scope, request_scope: Scope, accepted: bool
) -> None:
    view = world(("a", memory))
    if accepted:
        assert len(judge(view, request_scope, ("a", Verdict.USED))) == 1
    else:
        with pytest.raises(InvalidField, match=r"items\[0\]\.memory"):
            judge(view, request_scope, ("a", Verdict.USED))


def test_a_purge_forgets_the_verdicts() -> None:
    view = world(("a", ANN))
    view.apply(FeedbackGiven("a", Verdict.USED, Feedback(used=1)))
    view.apply(MemoryPurged("a"))
    view.apply(MemoryRecorded(Change.CREATED, Memory("a", ANN, Fact("another"), 0, 0)))
    assert view.feedback("a") == NO_FEEDBACK
