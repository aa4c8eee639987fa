"""What the tracer is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """`endpoint` is the whole address that spans are posted to. `headers` go with each request, and may be secret.

    `sample_ratio` is the part of traces that is kept; where `follow_caller`, only of those that no caller has decided
    on. `timeout`: seconds for one request, with the tries that follow it. `resource` says who sends.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sample_ratio: float = 1.0
    follow_caller: bool = True
    timeout: float = 10.0
    resource: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
