"""The services over open stores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from memsidecar import __version__
from memsidecar.adapters.system_runtime import SystemClock, TimeOrderedIds, give_back
from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.bootstrap.learning import open_jobs, open_learning
from memsidecar.bootstrap.shown import Shown, of_residency
from memsidecar.bootstrap.stores import MEBIBYTE, Stores, open_accesses
from memsidecar.bootstrap.tracing import traced_reranker
from memsidecar.config import Config
from memsidecar.domain.conflicts.rule_choice import read_rules
from memsidecar.domain.events import Entry
from memsidecar.domain.profile_choice import read_choice
from memsidecar.ports.models import Reranker, Tokenizer
from memsidecar.ports.runtime import Clock
from memsidecar.ports.sessions import SessionStore
from memsidecar.ports.tracing import Tracer
from memsidecar.server.app import Services
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.changes import Changes
from memsidecar.services.context import BuildContext
from memsidecar.services.conversation import Conversation
from memsidecar.services.evaluations import Evaluations
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.following import Parts
from memsidecar.services.generation import RecallDuring
from memsidecar.services.health import Health
from memsidecar.services.hydration import Hydration
from memsidecar.services.info import Info, ServerInfo
from memsidecar.services.keeping import KeepExchange
from memsidecar.services.knowledge import Knowledge
from memsidecar.services.memories import Memories
from memsidecar.services.moments import Moments
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.neighbours import Neighbours
from memsidecar.services.past import Past
from memsidecar.services.preparing import Preparing
from memsidecar.services.purging import Purging
from memsidecar.services.recall import Recall
from memsidecar.services.remember import Remember
from memsidecar.services.reranking import Reranking
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident
from memsidecar.services.session_end import EndSession
from memsidecar.services.sessions import Sessions
from memsidecar.services.slot_history import SlotHistory
from memsidecar.services.traced_recall import TracedRecall
from memsidecar.services.uniting import UniteEntities
from memsidecar.services.usages import Usages
from memsidecar.services.watch import Watch

# A recall waits this long for the embedder, then answers from the other tiers.
QUERY_MODEL_TIMEOUT = 2.0
# Partitions of the past get this part of the memory of those of the present, on top of it.
PAST_SHARE = 4

# Standard deviation of the cosines within a memory, by provider; the weight of a cosine follows from it. Measured over
# all pairs of the developer samples' turns (LoCoMo, MADial-zh, PrefEval: 0.131, 0.123, 0.142 for USE; 0.118, 0.135 for
# e5). MiniLM's 0.11 stands in where nothing is known.
SPREAD = {"use": 0.13, "e5": 0.125, "use+e5": 0.125}
UNKNOWN_SPREAD = 0.11


async def make_services(
    config: Config,
    stores: Stores,
    store: SessionStore,
    tokenizer: Tokenizer,
    stack: AsyncExitStack,
    shown: Shown,
    tracer: Tracer | None = None,
) -> Services:
    clock = SystemClock()
    ids = TimeOrderedIds(clock)

    max_bytes = config.resident.max_mb * MEBIBYTE
    past = Past(stores.ledger, stores.codec, stores.indexes, stores.space, max_bytes // PAST_SHARE)
    stack.push_async_callback(past.close)

    changes = Changes()

    def committed(resident: Resident, entries: Sequence[Entry]) -> None:
        stores.projector.publish(entries)
        past.follow(resident.partition, entries)
        changes.notice(resident, entries)

    hydration = Hydration(stores.ledger, stores.codec, stores.indexes, stores.snapshots, stores.space)
    usages = Usages(await open_accesses(config, stack), clock)
    usages.start()
    stack.push_async_callback(usages.close)
    residency = Residency(
        hydration, stores.ledger, stores.snapshots, clock, ids, max_bytes, committed, usages, give_back, tracer
    )
    stack.push_async_callback(residency.close)
    shown.add(of_residency(residency, max_bytes))
    backlog = EmbeddingBacklog(residency, stores.space)
    backlog.start()
    stack.push_async_callback(backlog.close)
    preparing = Preparing(stores.space)
    reranking = _open_reranking(config, clock, stack, shown, tracer)
    chosen = read_choice(config.ranking.profiles, config.ranking.profile, config.ranking.namespaces)
    # An embedder has the spread that it has, whatever weights are chosen.
    spread = SPREAD.get(config.embedding.provider, UNKNOWN_SPREAD)
    embeds = stores.space.embeds or config.embedding.provider == "client"
    conflicts = config.conflicts
    rules = read_rules(conflicts.policy, conflicts.policies, conflicts.single, conflicts.multi)
    moments = Moments(residency, past, clock)
    times = GrammarTimeExpressions()
    await asyncio.to_thread(times.load)
    learning = open_learning(config, NamedTimes(times), clock)
    jobs = open_jobs(config, stores.ledger, residency, preparing, backlog, learning, clock, rules, stack, shown, tracer)
    memories = Memories(
        residency, stores.ledger, preparing, stores.space, backlog, moments, rules, learning, jobs.unfinished
    )
    purging = Purging(stores.ledger, memories, clock)
    purging.start()
    stack.push_async_callback(purging.close)
    make_recall = Recall if tracer is None else partial(TracedRecall, tracer)
    recall = make_recall(
        residency,
        past,
        stores.space,
        backlog,
        clock,
        chosen,
        spread,
        QUERY_MODEL_TIMEOUT,
        NamedTimes(times),
        Conversation(store, clock),
        usages,
        reranking,
    )
    sessions = Sessions(store, tokenizer, clock, ids)
    remember = Remember(residency, preparing, backlog, learning, jobs.unfinished, rules)
    give_feedback = GiveFeedback(residency)
    parts = Parts(
        recall,
        residency,
        changes,
        usages,
        give_feedback,
        KeepExchange(sessions, remember, clock),
        tokenizer,
        clock,
        Evaluations(config.generation.evaluations),
        tracer=tracer,
    )
    recall_during = RecallDuring(parts, ids, config.generation.max_streams_per_namespace)
    watch = Watch(residency, stores.ledger, changes, config.limits.heartbeat)
    for part in (recall.counts, recall_during, watch):
        shown.add(part.metrics())
    return Services(
        now=clock.now,
        history=await stores.ledger.history_id(),
        remember=remember,
        memories=memories,
        knowledge=Knowledge(residency, preparing, backlog),
        slot_history=SlotHistory(moments),
        unite=UniteEntities(residency, rules),
        neighbours=Neighbours(moments, stores.graph, stores.projector),
        recall=recall,
        recall_during=recall_during,
        give_feedback=give_feedback,
        usage_of=usages.of,
        build_context=BuildContext(recall, residency, past, sessions, tokenizer, clock),
        sessions=sessions,
        end_session=EndSession(sessions, remember, residency),
        jobs=jobs,
        info=Info(
            ServerInfo(
                version=__version__,
                embedding_model=stores.space.model if embeds else "",
                embedding_dimensions=0,
                tokenizers=tokenizer.names,
                default_namespace=config.namespace,
                graph_engine=config.graph.engine,
            ),
            lambda: stores.space.dimensions if embeds else 0,
        ),
        health=Health(
            stores.ledger, stores.graph, store, f"redis.url {config.redis.address}" if config.redis.url else ""
        ),
        watch=watch,
    )


def _open_reranking(
    config: Config, clock: Clock, stack: AsyncExitStack, shown: Shown, tracer: Tracer | None
) -> Reranking | None:
    settings = config.reranker
    if settings.provider == "none":
        return None
    from memsidecar.adapters.openai_models import OpenAIReranker, RerankerSettings

    reranker: Reranker = OpenAIReranker(
        RerankerSettings(
            model=settings.model,
            ask="chat" if settings.provider == "openai" else "rerank",
            api_key=settings.api_key,
            base_url=settings.base_url,
            timeout=settings.timeout,
        )
    )
    stack.push_async_callback(reranker.close)
    counted = shown.models.reranker(reranker)
    return Reranking(counted if tracer is None else traced_reranker(counted, tracer), clock, settings.top_n)
