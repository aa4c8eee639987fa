from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain import keyword as module
from memsidecar.domain.bm25 import K1, LENGTH, B
from memsidecar.domain.keyword import MAX_ROWS, KeywordIndex

_documents = st.lists(st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=12)
_questions = st.lists(st.sampled_from("abcdez"), unique=True, min_size=1, max_size=4)


def indexed(documents: list[list[str]]) -> KeywordIndex:
    index = KeywordIndex()
    for row, terms in enumerate(documents):
        index.add(row, terms)
    return index


def bm25(documents: list[list[str]], question: list[str]) -> list[float]:
    """The formula, word by word."""
    real = [d for d in documents if d]
    if not real:
        return [0.0] * len(documents)
    idf = {t: math.log(1 + (len(real) - n + 0.5) / (n + 0.5)) for t in question for n in [sum(t in d for d in real)]}
    scores = []
    for document in documents:
        counts = Counter(document)
        parts = (
            idf[t] * counts[t] * (K1 + 1) / (counts[t] + K1 * (1 - B + B * len(document) / LENGTH)) for t in question
        )
        scores.append(sum(parts) / sum(idf.values()))
    return scores


@given(_documents, _questions)
def test_scores_are_the_formula(documents: list[list[str]], question: list[str]) -> None:
    scores = indexed(documents).scores(question, len(documents))
    assert scores == pytest.approx(bm25(documents, question), abs=1e-5)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= K1 + 1)).all()


@given(_documents, _questions, st.data())
def test_what_is_removed_was_never_there(documents: list[list[str]], question: list[str], data: st.DataObject) -> None:
    index = indexed(documents)
    gone = data.draw(st.sets(st.integers(0, len(documents) - 1)))
    for row in gone:
        index.remove(row, documents[row])
        index.remove(row, documents[row])
    left = [[] if row in gone else terms for row, terms in enumerate(documents)]
    fresh = indexed(left)
    assert index.terms_by_row() == fresh.terms_by_row()
    assert index.scores(question, len(left)) == pytest.approx(fresh.scores(question, len(left)), abs=1e-6)
    assert index.nbytes == fresh.nbytes
    for row in sorted(gone, reverse=True):
        index.add(row, documents[row])
    assert index.terms_by_row() == indexed(documents).terms_by_row()


@given(_documents, _questions)
def test_a_dump_restores_the_index(documents: list[list[str]], question: list[str]) -> None:
    index = indexed(documents)
    back = KeywordIndex.restore(index.dump())
    assert back.terms_by_row() == index.terms_by_row()
    assert back.nbytes == index.nbytes
    for each in (index, back):
        each.add(len(documents) + 2, ["a", "new"])
    rows = len(documents) + 3
    assert back.rows == index.rows == rows
    assert (back.scores(question, rows) == index.scores(question, rows)).all()


def test_counts_and_lengths_beyond_their_fields_are_capped_alike_in_a_dump() -> None:
    index = indexed([["a"] * 300 + ["b"], ["a"], ["c"] * 70_000])
    assert index.terms_by_row()[0] == {"a": 255, "b": 1}
    back = KeywordIndex.restore(index.dump())
    assert (back.scores(["a", "c"], 3) == index.scores(["a", "c"], 3)).all()
    index.remove(2, ["c"] * 70_000)
    assert index.scores(["a"], 3) == pytest.approx(indexed([["a"] * 255 + [""] * 46, ["a"], []]).scores(["a"], 3))


def test_a_pasted_page_is_scored_as_a_short_question_is(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{n}" for n in range(300)]
    documents = [words[n : n + 40 + n % 7] * (1 + n % 3) for n in range(250)] + [[]]
    question = [*words[::2], "never", "seen"]
    expected = np.array(bm25(documents, question))
    for size in (1 << 20, 500):  # in one pass over the postings, and in several
        monkeypatch.setattr(module, "_PASS", size)
        assert indexed(documents).scores(question, len(documents)) == pytest.approx(expected, abs=1e-5)


def test_an_empty_index_finds_nothing() -> None:
    index = KeywordIndex.restore(KeywordIndex().dump())
    assert index.scores(["a"], 0).shape == (0,)
    assert indexed([[], []]).scores(["a"], 2).tolist() == [0.0, 0.0]
    assert indexed([["a"]]).scores([], 1).tolist() == [0.0]


def test_a_row_is_added_once_and_within_bounds() -> None:
    index = indexed([["a"]])
    for row in (0, -1, MAX_ROWS):
        with pytest.raises(ValueError, match="cannot be added"):
            index.add(row, ["b"])
    assert index.terms_by_row() == {0: {"a": 1}}
    index.remove(7, ["a"])


def test_a_word_never_seen_weighs_in_the_question() -> None:
    index = indexed([["a"], ["b"], ["c"]])
    assert index.scores(["a", "zzz"], 3)[0] < index.scores(["a"], 3)[0] / 2


def test_steps_of_a_long_row_add_and_remove_all_of_it() -> None:
    terms = [f"term {n}" for n in range(1_000)] * 2
    index, whole = KeywordIndex(), KeywordIndex()
    assert len(list(index.adding(0, Counter(terms)))) > 3
    whole.add(0, terms)
    assert index.terms_by_row() == whole.terms_by_row() == {0: dict.fromkeys(terms, 2)}
    assert len(list(index.removing(0, Counter(terms)))) > 3
    assert index.terms_by_row() == {}
    assert index.nbytes == KeywordIndex().nbytes + 6


def test_it_says_how_many_texts_have_a_term() -> None:
    index = indexed([["a", "a", "b"], [], ["a"]])
    assert (index.documents, index.having("a"), index.having("b"), index.having("z")) == (2, 2, 1, 0)
    index.remove(2, ["a"])
    assert (index.documents, index.having("a")) == (1, 1)
