"""Claims as models write them."""

from __future__ import annotations

from typing import Any

OSLO = "I moved to Oslo in May, and I hate tea."


def said(**changes: Any) -> dict[str, Any]:
    """A right claim of OSLO, but for the changes; a field that is set to ... is left out."""
    claim = {
        "turn": 1,
        "kind": "fact",
        "subject": "",
        "attribute": "lives_in",
        "value": "Oslo",
        "statement": "The user moved to Oslo in May.",
        "evidence": "I moved to Oslo in May",
        "negated": False,
        "polarity": 0,
        "manner": "changed",
        "time": "in May",
        "time_role": "from",
        "entity_type": "place",
        "confidence": 0.95,
        "importance": 0.8,
        **changes,
    }
    return {name: value for name, value in claim.items() if value is not ...}


TEA = said(
    kind="preference",
    attribute="drink",
    value="tea",
    statement="The user hates tea.",
    evidence="I hate tea",
    polarity=-0.9,
    manner="stated",
    time="",
    time_role="at",
    entity_type="thing",
    importance=0.4,
)
