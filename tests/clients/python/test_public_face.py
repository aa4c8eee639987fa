"""What the distribution promises: its names, its enumerations, its retries, its quiet import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import memsidecar_client
import pytest
from memsidecar_client import _channel
from memsidecar_client._enums import OpenEnum
from memsidecar_client.v1 import (
    conflict_pb2,
    generation_service_pb2,
    job_service_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)

PACKAGE = Path(memsidecar_client.__file__).parent

PUBLIC = """
AlreadyExists Appended AsyncMemsidecar AsyncPages AsyncRecallStream AsyncRememberStream AsyncSession Body
Cancelled Conflict Context ContextFormat ContextSection ContextSectionKind Omission OmissionReason SectionBudget
DEFAULT_TIMEOUT DataLoss DeadlineExceeded Deleted Embedding Entity Episode
EpisodeOutcome Explanation Fact FailedPrecondition FeedbackKind Filter Hit HitFound Internal InvalidArgument Item
ItemResult JsonValue Memory MemoryChange MemoryKind MemoryOrder MemoryRevision MemoryState MemsidecarError
Memsidecar Message MessageFound MessageHit NotFound Outcome Pages PermissionDenied Preference Procedure Provenance
QuestionAnalysis RecallDone
RecallEvent RecallResult RecallStream RememberAction RememberStream Rememberable Remembered RememberedMany
ResourceExhausted Role Scope ScoreComponent ScratchEntry ServerInfo Session SessionHandle StreamSummary Tier
TierDone TierOutcome TierReport ToolCall Unauthenticated Unavailable UnknownBody Vector Violation Window
WriteWait Written default_target
AsyncGeneration Backoff Draining Generation GenerationEvent GenerationOutcome GenerationSummary GenerationTerms
Recalled Resumed Retracted RetractionReason TextSource Trigger Watermark
AsyncMemoryWatch MemoryChanged MemoryWatch WatchBehind WatchEvent WatchHeartbeat WatchInterrupted
ConflictChanged ConflictDetails ConflictEvidence ConflictPolicy ConflictResolution ConflictRule ConflictState
MemoryConflict MergedEntities Neighbor PartedEntities Settled SlotValue HitStanding
AsyncJobWatch Job JobKind JobState JobWatch
Conversation ConversationTurn Declined EndedSession WriteStages
"""


def test_public_names_are_these() -> None:
    assert sorted(memsidecar_client.__all__) == sorted(PUBLIC.split())
    assert all(hasattr(memsidecar_client, name) for name in memsidecar_client.__all__)


def test_every_other_module_is_private() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")} == set()
    assert (PACKAGE / "py.typed").exists()


ENUMS: dict[str, Any] = {
    "MemoryKind": memory_pb2.MemoryKind,
    "MemoryState": memory_pb2.MemoryState,
    "EpisodeOutcome": memory_pb2.EpisodeOutcome,
    "MemoryChange": memory_pb2.MemoryChange,
    "MemoryOrder": memory_service_pb2.MemoryOrder,
    "WriteWait": memory_service_pb2.WriteWait,
    "RememberAction": memory_service_pb2.RememberAction,
    "Tier": recall_service_pb2.Tier,
    "TierOutcome": recall_service_pb2.TierOutcome,
    "FeedbackKind": recall_service_pb2.FeedbackKind,
    "ContextFormat": recall_service_pb2.ContextFormat,
    "ContextSectionKind": recall_service_pb2.ContextSectionKind,
    "OmissionReason": recall_service_pb2.OmissionReason,
    "TextSource": generation_service_pb2.TextSource,
    "RetractionReason": generation_service_pb2.RetractionReason,
    "GenerationOutcome": generation_service_pb2.GenerationOutcome,
    "ConflictPolicy": conflict_pb2.ConflictPolicy,
    "ConflictResolution": conflict_pb2.ConflictResolution,
    "ConflictRule": conflict_pb2.ConflictRule,
    "ConflictState": conflict_pb2.ConflictState,
    "JobKind": job_service_pb2.JobKind,
    "JobState": job_service_pb2.JobState,
    "Role": session_service_pb2.MessageRole,
}


@pytest.mark.parametrize("face", OpenEnum.__subclasses__(), ids=lambda face: face.__name__)
def test_enumerations_are_those_of_the_contract(face: type[OpenEnum]) -> None:
    descriptor = ENUMS[face.__name__].DESCRIPTOR
    prefix = descriptor.values[0].name.removesuffix("UNSPECIFIED")
    assert {v.name.removeprefix(prefix): v.number for v in descriptor.values} == {m.name: m.value for m in face}


def test_every_retried_method_reads_or_carries_a_request_id() -> None:
    retried = json.loads(_channel.service_config())["methodConfig"][0]["name"]
    assert len(retried) == len({(entry["service"], entry["method"]) for entry in retried})
    methods = {
        method.full_name: method
        for file in _channel._FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    for entry in retried:
        method = methods.pop(f"{entry['service']}.{entry['method']}")
        reads = method.name.startswith(("Get", "List", "Recall", "BatchGet", "BuildContext", "Watch", "Cancel"))
        assert reads or "request_id" in method.input_type.fields_by_name, method.name
    assert list(methods) == ["memsidecar.v1.MemoryService.StreamRemember"]


def test_sockets_get_no_keepalive_and_tcp_one_a_minute() -> None:
    for target in ("unix:///run/memsidecar/memsidecar.sock", "unix:rel.sock", "unix-abstract:name"):
        assert "grpc.keepalive_time_ms" not in dict(_channel.channel_options(target))
    assert dict(_channel.channel_options("127.0.0.1:50551"))["grpc.keepalive_time_ms"] == 60_000


def test_import_has_no_effect_and_drags_nothing_in() -> None:
    program = (
        "import json, sys, threading, memsidecar_client; print(json.dumps([[*sys.modules], threading.active_count()]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    modules, threads = json.loads(ended.stdout)
    assert not {"memsidecar", "grpc_tools", "google.rpc", "googleapis_common_protos", "numpy"} & set(modules)
    assert threads == 1
