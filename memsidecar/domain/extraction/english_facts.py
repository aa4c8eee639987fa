"""The English rules for facts, by the verb that each is of."""

from __future__ import annotations

import re

from memsidecar.domain.extraction.english_places import Rule, born, comes_from, grew, lives, moved, visited
from memsidecar.domain.extraction.english_skills import broke, dates_somebody, knows, learns, speaks, speaks_fluently
from memsidecar.domain.extraction.english_things import diagnosed, died, eats, has, owns, plays, runs, switched, weighs
from memsidecar.domain.extraction.english_work import (
    dismissed,
    graduated,
    majors,
    new_job,
    promoted,
    retired,
    studies,
    works,
)

_ARTICLE = re.compile(r"(?:an?|the)\s")

FACTS: dict[str, Rule] = {
    **dict.fromkeys(("live", "lives", "lived", "living", "reside", "based", "located"), lives),
    **dict.fromkeys(("moved", "relocated"), moved),
    **dict.fromkeys(("from", "come", "comes"), comes_from),
    **dict.fromkeys(("grew", "raised"), grew),
    "born": born,
    "visited": visited,
    **dict.fromkeys(("work", "works", "working", "worked"), works),
    **dict.fromkeys(
        ("start", "starting", "started", "landed", "accepted", "quit", "left", "lost", "resigned", "took"), new_job
    ),
    "promoted": promoted,
    **dict.fromkeys(("laid", "fired"), dismissed),
    "fluent": speaks_fluently,
    "dating": dates_somebody,
    "play": plays,
    **dict.fromkeys(("run", "drive"), runs),
    **dict.fromkeys(("weigh", "weighs"), weighs),
    "broke": broke,
    **dict.fromkeys(("died", "passed"), died),
    "retired": retired,
    **dict.fromkeys(("study", "studies", "studying", "studied"), studies),
    **dict.fromkeys(("major", "majoring", "majored"), majors),
    **dict.fromkeys(("graduated",), graduated),
    **dict.fromkeys(("have", "has", "got"), has),
    **dict.fromkeys(("own", "bought", "sold", "adopted", "purchased", "rescued"), owns),
    **dict.fromkeys(("speak", "speaks"), speaks),
    "know": knows,
    "learning": learns,
    **dict.fromkeys(("switched", "changed"), switched),
    **dict.fromkeys(("diagnosed", "suffer", "suffers", "suffering"), diagnosed),
    **dict.fromkeys(("eat", "drink", "consume"), eats),
}
