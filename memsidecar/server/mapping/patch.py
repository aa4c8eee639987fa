"""UpdateMemory: which fields of a memory change, and to what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from memsidecar.domain import limits
from memsidecar.domain.draft import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, Patch
from memsidecar.domain.memory import Kind
from memsidecar.domain.scope import Partition
from memsidecar.server.mapping.memory_in import read_body, read_expiration
from memsidecar.server.mapping.names import References
from memsidecar.server.mapping.values import micros_or_none, read_struct, read_vectors
from memsidecar.server.validation import Violations, check_field
from memsidecar.v1 import memory_pb2 as pb
from memsidecar.v1 import memory_service_pb2

_KINDS = {kind.name.lower(): kind for kind in Kind}
# What only the server says.
_OUTPUT = {"entity": {"discovered"}, "episode": {"follows"}}
_OBJECTS = {"entity": "object_entity", "text": "object_text", "value": "object_value"}
_RENAMED = {("fact", path): name for path, name in _OBJECTS.items()}

_Read = Callable[[pb.Memory, int, References], Any]
# Path of Memory -> (field of the domain's Memory, its new value). An unset field gives the default: it is cleared.
_OF_MEMORY: dict[str, tuple[str, _Read]] = {
    "valid_start_time": ("valid_from", lambda m, now, refs: micros_or_none(m, "valid_start_time")),
    "valid_end_time": ("valid_to", lambda m, now, refs: micros_or_none(m, "valid_end_time")),
    "expire_time": ("expires_at", lambda m, now, refs: read_expiration(m, now)),
    "ttl": ("expires_at", lambda m, now, refs: read_expiration(m, now)),
    "confidence": ("confidence", lambda m, now, refs: m.confidence if m.HasField("confidence") else DEFAULT_CONFIDENCE),
    "importance": ("importance", lambda m, now, refs: m.importance if m.HasField("importance") else DEFAULT_IMPORTANCE),
    "labels": ("labels", lambda m, now, refs: dict(m.labels)),
    "attributes": ("attributes", lambda m, now, refs: read_struct(m.attributes)),
    "mentions": ("mentions", lambda m, now, refs: refs.many(m.mentions, "memory.mentions")),
}
_OF_BODY: dict[str, tuple[str, ...]] = {
    kind: tuple(
        field.name
        for field in getattr(pb, kind.capitalize()).DESCRIPTOR.fields
        if field.name not in _OUTPUT.get(kind, ())
    )
    for kind in _KINDS
}


def read_patch(
    request: memory_service_pb2.UpdateMemoryRequest, partition: Partition, now: int, violations: Violations
) -> Patch:
    """The changes that the mask asks for; what it does not name is not looked at."""
    memory = request.memory
    paths = _paths(request, violations)
    kinds = {path.split(".")[0] for path in paths} & _KINDS.keys()
    kind = next(iter(kinds), None)
    given = memory.WhichOneof("body")
    if len(kinds) > 1 or (kind and given and given != kind):
        violations.add("update_mask", f"names fields of another kind than {given or kind}; a memory has one kind")
        kind = None
    if memory.ByteSize() - sum(p.ByteSize() for p in memory.provenance) > limits.MAX_MEMORY_BYTES:
        violations.add("memory", f"is larger than {limits.MAX_MEMORY_BYTES:,} bytes")
    for path in paths:
        head, _, field = path.partition(".")
        target: Any = getattr(memory, head) if field else memory
        violations.found += check_field(target, field or head, f"memory.{head}" if field else "memory")
    violations.raise_any()
    references = References(partition, violations)
    changes = {name: read(memory, now, references) for path, (name, read) in _OF_MEMORY.items() if path in paths}
    if kind is not None:
        changes |= _body_changes(memory, kind, [path.partition(".")[2] for path in paths if "." in path], references)
    vectors = None
    if request.HasField("embedding"):
        vectors = read_vectors(request.embedding, "embedding", violations)
    return Patch(changes, memory.etag, request.reason, vectors, kind=_KINDS[kind] if kind else None)


def _paths(request: memory_service_pb2.UpdateMemoryRequest, violations: Violations) -> list[str]:
    """Leaf paths in a fixed order, each once."""
    memory = request.memory
    asked: dict[str, None] = {}
    if not request.HasField("update_mask"):
        for each, value in memory.ListFields():
            if each.name in _OF_MEMORY:
                asked[each.name] = None
            elif each.name in _KINDS:
                names = (f.name for f, _ in value.ListFields())
                asked |= {f"{each.name}.{name}": None for name in names if name in _OF_BODY[each.name]}
    for index, path in enumerate(request.update_mask.paths):
        head, _, field = path.partition(".")
        if path == "*":
            body = memory.WhichOneof("body")
            asked |= dict.fromkeys(p for p in _OF_MEMORY if p not in ("ttl", "expire_time"))
            asked["expire_time" if memory.WhichOneof("expiration") != "ttl" else "ttl"] = None
            asked |= {f"{body}.{name}": None for name in _OF_BODY[body]} if body else {}
        elif path in _OF_MEMORY:
            asked[path] = None
        elif head in _KINDS and not field:
            asked |= {f"{head}.{name}": None for name in _OF_BODY[head]}
        elif head in _KINDS and field in _OF_BODY[head]:
            asked[path] = None
        else:
            violations.add(f"update_mask.paths[{index}]", "is not a field of Memory that can be changed")
    if not asked and not violations.found:
        violations.add("update_mask", "names nothing, and the memory has nothing set, that could be changed")
    return list(asked)


def _body_changes(memory: pb.Memory, kind: str, names: list[str], references: References) -> dict[str, Any]:
    body: Any = getattr(memory, kind)
    whole = pb.Memory()
    getattr(whole, kind).CopyFrom(body)
    for name in set(_OF_BODY[kind]) - set(names):
        getattr(whole, kind).ClearField(name)
    read = read_body(whole, "memory", references)
    values = {field.name: getattr(read, field.name) for field in fields(read)}
    changes = {name: values[name] for name in (_RENAMED.get((kind, n), n) for n in names)}
    if kind == "fact" and (chosen := body.WhichOneof("object")) in names:
        # One of the three: the one that is set takes the place of the others.
        changes |= {name: values[name] if path == chosen else "" for path, name in _OBJECTS.items()}
    return changes
