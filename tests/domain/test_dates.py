from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.dates import explicit_dates


def at(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1_000_000


NOW = at(2023, 10, 23)
EIGHTH_OF_MAY = (at(2023, 5, 8), at(2023, 5, 9))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("on 8 May 2023", [EIGHTH_OF_MAY]),
        ("on May 8th, 2023?", [EIGHTH_OF_MAY]),
        ("the 8th of May", [EIGHTH_OF_MAY]),
        ("2023-05-08", [EIGHTH_OF_MAY]),
        ("2023年5月8日", [EIGHTH_OF_MAY]),
        ("in June", [(at(2023, 6, 1), at(2023, 7, 1))]),
        ("in december", [(at(2022, 12, 1), at(2023, 1, 1))]),
        ("during 2022 and Dec 2021", [(at(2022, 1, 1), at(2023, 1, 1)), (at(2021, 12, 1), at(2022, 1, 1))]),
        ("may I march on?", []),
        ("31 June 2023", []),
        ("version 2023", []),
        ("", []),
    ],
)
def test_dates_written_out_are_spans(text: str, spans: list[tuple[int, int]]) -> None:
    assert list(explicit_dates(text, NOW)) == spans


@given(st.text(), st.integers(-(2**55), 2**57))
def test_any_text_has_dates(text: str, reference: int) -> None:
    for start, end in explicit_dates(text + " in June, on 3 March", reference):
        assert start < end
