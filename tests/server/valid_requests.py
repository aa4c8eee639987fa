"""A good request of every kind, as plain dicts: what a test makes bad."""

from __future__ import annotations

from typing import Any

MEMORY = "namespaces/home/users/ann/memories/m1"
ENTITY = "namespaces/home/users/ann/memories/e1"
SESSION = "namespaces/home/users/ann/sessions/s1"
CONFLICT = "namespaces/home/users/ann/conflicts/c1"
JOB = "namespaces/home/users/ann/jobs/j1"
FOREIGN = "namespaces/elsewhere/users/ann/memories/e1"
# What a message needs to be valid, as far as something else in it is the matter.
VALID: dict[str, dict[str, Any]] = {
    "Scope": {"user": "ann"},
    "Fact": {"statement": "s"},
    "Preference": {"statement": "s"},
    "Entity": {"display_name": "Ann"},
    "Episode": {"text": "t"},
    "Procedure": {"statement": "s"},
    "Memory": {"entity": {"display_name": "Ann"}},
    "Embedding": {"values": [1, 0]},
    "RememberItem": {"text": "t"},
    "Query": {"text": "q"},
    "Message": {"role": 2, "text": "t"},
    "ToolCall": {"id": "i", "name": "n"},
    "ScratchEntry": {"key": "k", "value": {"bool_value": True}},
    "RememberRequest": {"scope": {"user": "ann"}, "item": {"text": "t"}},
    "BatchRememberRequest": {"scope": {"user": "ann"}, "items": [{"text": "t"}]},
    "CreateMemoryRequest": {"scope": {"user": "ann"}, "memory": {"entity": {"display_name": "Ann"}}},
    "GetMemoryRequest": {"name": MEMORY},
    "BatchGetMemoriesRequest": {"names": [MEMORY]},
    "ListMemoriesRequest": {"scope": {"user": "ann"}},
    "UpdateMemoryRequest": {"memory": {"name": MEMORY, "importance": 0.5}},
    "DeleteMemoryRequest": {"name": MEMORY},
    "UndeleteMemoryRequest": {"name": MEMORY},
    "ListMemoryRevisionsRequest": {"parent": MEMORY},
    "RecallRequest": {"scope": {"user": "ann"}, "query": {"text": "q"}},
    "RecallOnceRequest": {"scope": {"user": "ann"}, "query": {"text": "q"}},
    "FeedbackItem": {"memory": MEMORY, "kind": 1},
    "FeedbackRequest": {"scope": {"user": "ann"}, "items": [{"memory": MEMORY, "kind": 1}]},
    "BuildContextRequest": {"scope": {"user": "ann"}, "query": {"text": "q"}},
    "SectionBudget": {"kind": 3},
    "ConversationTurn": {"text": "t"},
    "Conversation": {"turns": [{"text": "t"}]},
    "ListConflictsRequest": {"scope": {"user": "ann"}},
    "GetConflictRequest": {"name": CONFLICT},
    "ResolveConflictRequest": {"name": CONFLICT, "dismissal": {}},
    "TemporalPart": {"memory": MEMORY},
    "TemporalSplit": {"parts": [{"memory": MEMORY}]},
    "UndoResolutionRequest": {"name": CONFLICT},
    "Slot": {"attribute": "lives_in"},
    "ListSlotHistoryRequest": {"scope": {"user": "ann"}, "slot": {"attribute": "lives_in"}},
    "ListNeighborsRequest": {"memory": MEMORY},
    "MergeEntitiesRequest": {"target": ENTITY, "sources": [MEMORY]},
    "UndoMergeEntitiesRequest": {"source": ENTITY},
    "GetJobRequest": {"name": JOB},
    "ListJobsRequest": {"scope": {"user": "ann"}},
    "CancelJobRequest": {"name": JOB},
    "WatchJobRequest": {"name": JOB},
    "GetSessionRequest": {"name": SESSION},
    "ListSessionsRequest": {"scope": {"user": "ann"}},
    "UpdateSessionRequest": {"session": {"name": SESSION, "labels": {"a": "b"}}},
    "EndSessionRequest": {"name": SESSION},
    "DeleteSessionRequest": {"name": SESSION},
    "AppendMessagesRequest": {"session": SESSION, "messages": [{"role": 2, "text": "t"}]},
    "ListMessagesRequest": {"session": SESSION},
    "GetWindowRequest": {"session": SESSION},
    "SetScratchRequest": {"session": SESSION, "entries": [{"key": "k", "value": {"bool_value": True}}]},
    "GetScratchRequest": {"session": SESSION},
    "WatchMemoriesRequest": {"scope": {"user": "ann"}},
    "DeleteScratchRequest": {"session": SESSION, "keys": ["k"]},
}

# Of each stream of requests: its events, the first one first.
EVENTS: dict[str, dict[str, dict[str, Any]]] = {
    "StreamRemember": {"start": {"scope": {"user": "ann"}}, "items": {"items": [{"text": "t"}]}},
    "RecallDuring": {
        "start": {"scope": {"user": "ann"}},
        "text": {"seq": 1, "text": "t"},
        "credit": {"hits": 1},
        "rewind": {"seq": 0},
        "feedback": {"memory": MEMORY, "kind": 1},
        "finish": {"outcome": 1},
    },
}
