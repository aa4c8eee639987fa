"""The call that recalls while a model writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from uuid import uuid4

from memsidecar_client._defaults import RESUME_TIMEOUT
from memsidecar_client._enums import FeedbackKind, Tier
from memsidecar_client._generation import AsyncGeneration
from memsidecar_client._generation_known import known_of, known_to_proto
from memsidecar_client._generation_mapping import trigger_to_proto
from memsidecar_client._generation_run import GenerationRun
from memsidecar_client._generation_values import GenerationEvent, Trigger
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Filter, Memory
from memsidecar_client._recall_mapping import options_to_proto
from memsidecar_client._recall_values import Hit
from memsidecar_client._recalling import RecallCalls
from memsidecar_client._session_values import Session
from memsidecar_client.v1.generation_service_pb2 import GenerationStart


class GenerationCalls(RecallCalls):
    """Part of AsyncMemsidecar."""

    def generation(
        self,
        prompt: str = "",
        *,
        conversation: str | Session = "",
        known: Iterable[str | Hit | Memory] = (),
        remember: bool = False,
        trigger: Trigger | None = None,
        min_confidence: float | None = None,
        tiers: Iterable[Tier] = (),
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        max_hits: int = 0,
        max_total_hits: int = 0,
        max_total_tokens: int = 0,
        initial_credit: int | None = None,
        auto_credit: bool = True,
        on_event: Callable[[GenerationEvent], None] | None = None,
        min_revision: str = "",
        explain: bool = False,
        include_shared: bool = False,
        profile: str = "",
        weights: Mapping[str, float] | None = None,
        diversity: float | None = None,
        only_named_time: bool = False,
        time_zone: str = "",
        generation_id: str = "",
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        resume_timeout: float = RESUME_TIMEOUT,
        timeout: float | None = None,
    ) -> AsyncGeneration:
        """Follows a model while it writes and brings memories as they become relevant; use it as a context manager.

        `prompt` is what the model was asked, the first thing recalled on. `known` are memories that are in the prompt
        already, as hits, by value or resource name: not brought, but taken back when they stop holding. `conversation`
        is the session that the generation belongs to, by value or resource name: what it holds is not brought, and with
        `remember` the prompt and the answer are appended to it and to long-term memory when the generation is finished.
        (`session`, as in recall, narrows to what is remembered of a session.)

        `trigger` says when text is looked at. A memory less likely than `min_confidence` (0 to 1; None: the server's
        default) to be what the text is about is not brought. `max_hits` bounds each look, `max_total_hits` and
        `max_total_tokens` the whole generation; 0 takes the server's 5, 64 and 4096. Only `initial_credit` hits come
        (None: 16) until the application takes some of them; with `auto_credit=False`, until it calls `credit`.

        With `on_event` every event goes to that function instead of the queue. It is called in the event loop and must
        return at once; what it raises ends the generation.

        A broken stream tries to go on for `resume_timeout` seconds. There is no deadline unless `timeout` gives one for
        the whole generation. All else is as in recall.
        """
        scope = self._scope(namespace, user, agent, session)
        known_forms = dict(map(known_of, known))
        start = GenerationStart(
            scope=scope_to_proto(scope),
            generation_id=generation_id or str(uuid4()),
            prompt=prompt,
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=0.0,
                soft_deadline=None,
                min_revision=min_revision,
                include_explanations=explain,
                include_shared=include_shared,
                valid_at=None,
                known_at=None,
                profile=profile,
                weights=weights,
                diversity=diversity,
                adaptive=False,
                only_named_time=only_named_time,
            ),
            trigger=trigger_to_proto(trigger),
            known_memories=known_forms,
            known=known_to_proto(known_forms.items()),
            initial_credit=initial_credit,
            max_total_hits=max_total_hits,
            max_total_tokens=max_total_tokens,
            min_confidence=min_confidence,
            session=conversation.name if isinstance(conversation, Session) else conversation,
            time_zone=time_zone,
        )
        run = GenerationRun(
            self._connection,
            start,
            known=known_forms,
            auto_credit=auto_credit,
            on_event=on_event,
            timeout=timeout,
            resume_timeout=resume_timeout,
        )

        async def feedback(name: str, kind: FeedbackKind) -> None:
            # Shared memory came with include_shared; it is judged under the empty user.
            owner = scope.user if "/users/" in name else ""
            await self.feedback(
                {name: kind}, namespace=scope.namespace, user=owner, agent=scope.agent, session=scope.session
            )

        return AsyncGeneration(self._connection, run, remember, feedback)
