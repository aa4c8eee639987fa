"""What reads remembered texts, and the jobs that go on with it."""

from __future__ import annotations

from contextlib import AsyncExitStack

from memsidecar.bootstrap.extraction import open_extractor
from memsidecar.bootstrap.shown import Shown
from memsidecar.bootstrap.tracing import traced_extractor
from memsidecar.config import Config
from memsidecar.domain.attributes import ATTRIBUTES
from memsidecar.domain.claims_read import claims_read
from memsidecar.domain.conflicts.rule_choice import RuleChoice
from memsidecar.domain.extraction.asking import worth_asking
from memsidecar.domain.gate import Gate
from memsidecar.ports.jobs import JobStore
from memsidecar.ports.runtime import Clock
from memsidecar.ports.tracing import Tracer
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.extraction import Extract
from memsidecar.services.job_counts import JobCounts
from memsidecar.services.job_worker import JobWorker
from memsidecar.services.jobs import Jobs
from memsidecar.services.learning import Learning
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.preparing import Preparing
from memsidecar.services.residency import Residency


def open_learning(config: Config, times: NamedTimes, clock: Clock) -> Learning:
    settings = config.extraction
    gate = Gate(settings.min_importance, settings.sensitive == "store")
    rules = None if settings.mode == "none" else claims_read
    return Learning(rules, times, clock, gate, worth_asking if settings.mode == "llm" else None)


def open_jobs(
    config: Config,
    store: JobStore,
    residency: Residency,
    preparing: Preparing,
    backlog: EmbeddingBacklog,
    learning: Learning,
    clock: Clock,
    rules: RuleChoice,
    stack: AsyncExitStack,
    shown: Shown,
    tracer: Tracer | None = None,
) -> Jobs:
    """The jobs, and their worker when a model is configured; it begins with what an earlier process has left."""
    jobs = Jobs(store, residency, clock)
    counts = JobCounts(store)
    counts.start()
    stack.push_async_callback(counts.close)
    shown.add(counts.metrics())
    extractor = open_extractor(config, tuple(ATTRIBUTES), stack)
    if extractor is not None:
        extractor = shown.models.extractor(extractor)
        if tracer is not None:
            extractor = traced_extractor(extractor, tracer)
        extract = Extract(residency, preparing, backlog, learning, extractor, rules)
        worker = JobWorker(store, residency, extract, jobs.changed)
        jobs.worked_by(worker)
        worker.start()
        stack.push_async_callback(worker.close)
    return jobs
