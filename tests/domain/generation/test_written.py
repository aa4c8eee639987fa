from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.errors import InvalidField, ProtocolViolation
from memsidecar.domain.generation.values import MAX_DELTA_BYTES, MAX_SOURCE_CHANGES, MAX_STREAM_BYTES, Source
from memsidecar.domain.generation.written import Written


def written(*deltas: str, first_seq: int = 1) -> Written:
    made = Written(first_seq)
    for seq, text in enumerate(deltas, first_seq):
        made.append(seq, text, Source.MODEL)
    return made


@dataclass(frozen=True)
class Rewound:
    share: float


_deltas = st.tuples(st.text("ab 记忆🙂", max_size=700), st.sampled_from(Source))
_steps = st.lists(_deltas | st.builds(Rewound, st.floats(0, 1)), max_size=30)


@settings(deadline=None)
@given(st.integers(1, 5), _steps, st.data())
def test_it_is_the_list_of_the_deltas_that_stand(first: int, steps: list[object], data: st.DataObject) -> None:
    held: list[tuple[str, Source]] = []
    text = Written(first)
    for step in steps:
        if isinstance(step, tuple):
            text.append(first + len(held), *step)
            held.append(step)
        elif isinstance(step, Rewound):
            del held[int(step.share * len(held)) :]
            text.rewind(first - 1 + len(held))
    whole = "".join(each for each, _ in held)
    start, end = sorted((data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, len(whole)))))
    assert (text.length, text.last_seq) == (len(whole), first - 1 + len(held))
    assert text.slice(start, end) == whole[start:end]
    ends = [sum(len(each) for each, _ in held[: count + 1]) for count in range(len(held))]
    assert text.seq_at(end) == first - 1 + sum(place <= end for place in ends)
    if end:
        assert text.delta_before(end) == first + sum(place < end for place in ends)
    for source in Source:
        theirs = [each for each, whose in held if whose is source]
        assert "".join(run for _, run in text.runs(source)) == "".join(theirs)
    runs = text.runs(*Source)
    assert "".join(run for _, run in runs) == whole
    assert all(one[0] is not other[0] for one, other in pairwise(runs))


@pytest.mark.parametrize("seq", [0, 2, 4, 5])
def test_a_gap_or_a_repeated_seq_is_a_violation_and_changes_nothing(seq: int) -> None:
    text = written("a", "b")
    with pytest.raises(ProtocolViolation, match=r"expected text\.seq 3"):
        text.append(seq, "x", Source.MODEL)
    assert (text.slice(0, 9), text.last_seq) == ("ab", 2)


@pytest.mark.parametrize("seq", [18, 22, -1])
def test_a_rewind_to_where_nothing_is_is_a_violation(seq: int) -> None:
    text = written("a", "b", first_seq=20)
    with pytest.raises(ProtocolViolation, match=r"expected rewind\.seq from 19 to 21"):
        text.rewind(seq)
    assert text.rewind(19) == 0


def test_empty_deltas_count_as_considered_with_what_is_before_them() -> None:
    text = written("", "ab", "", "", "c", "")
    assert [text.seq_at(place) for place in range(4)] == [1, 1, 4, 6]


def test_a_delta_has_at_most_64_kib_of_utf8() -> None:
    text = written("记" * (MAX_DELTA_BYTES // 3))
    with pytest.raises(InvalidField, match=r"^text\.text"):
        text.append(2, "记" * (MAX_DELTA_BYTES // 3 + 1), Source.MODEL)
    assert text.last_seq == 1


def test_a_stream_has_at_most_1_mib_and_a_rewind_gives_back() -> None:
    text = written(*["é" * (MAX_DELTA_BYTES // 2)] * (MAX_STREAM_BYTES // MAX_DELTA_BYTES))
    with pytest.raises(InvalidField, match=r"^text\.text"):
        text.append(17, "x", Source.MODEL)
    text.rewind(15)
    text.append(16, "x" * MAX_DELTA_BYTES, Source.MODEL)


def test_the_source_changes_at_most_so_often() -> None:
    text = Written(1)
    for seq in range(1, MAX_SOURCE_CHANGES + 1):
        text.append(seq, "x", Source.USER if seq % 2 else Source.MODEL)
    text.append(text.last_seq + 1, "x", Source.MODEL)
    with pytest.raises(InvalidField, match=r"^text\.source"):
        text.append(text.last_seq + 1, "x", Source.USER)
    text.rewind(text.last_seq - 3)
    text.append(text.last_seq + 1, "x", Source.TOOL)


def test_a_mebibyte_in_single_characters_takes_no_longer_for_each_than_for_the_first() -> None:
    text = Written(1)
    began = time.perf_counter()
    for seq in range(1, MAX_STREAM_BYTES + 1):
        text.append(seq, "x", Source.MODEL)
    assert time.perf_counter() - began < 20
    assert text.slice(MAX_STREAM_BYTES - 3, MAX_STREAM_BYTES) == "xxx"
