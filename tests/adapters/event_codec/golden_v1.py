"""Bytes as format 1 wrote them. Never change one: files out there hold them. Add to the list when the format grows."""

from __future__ import annotations

import numpy as np

from memsidecar.domain.conflict import Before, Conflict, ConflictState, Evidence, Policy, Resolution, Rule
from memsidecar.domain.events import (
    Change,
    ConflictRecorded,
    Event,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    Vectors,
    VectorsRecorded,
)
from memsidecar.domain.feedback import Feedback, Verdict
from memsidecar.domain.memory import (
    Body,
    Entity,
    Episode,
    Fact,
    Memory,
    Outcome,
    Preference,
    Procedure,
    Provenance,
    State,
)
from memsidecar.domain.scope import Partition, Scope

PARTITION = Partition("acme", "ann")
_AT = 1_764_000_000_000_000
_VECTORS = Vectors("model-a", np.arange(6, dtype=np.float32).reshape(2, 3))


def _full(memory_id: str, body: Body) -> Memory:
    return Memory(
        id=memory_id,
        scope=Scope("acme", "ann", "planner", "s-1"),
        body=body,
        created_at=_AT,
        updated_at=_AT + 1,
        version=7,
        state=State.DISPUTED,
        valid_from=0,
        valid_to=_AT + 2,
        superseded_at=_AT + 3,
        deleted_at=_AT + 4,
        purge_at=_AT + 5,
        expires_at=_AT + 6,
        confidence=0.75,
        importance=0.25,
        provenance=(
            Provenance("s-1", ("1", "2"), ("m-0",), "rules", "doc", "planner", "ann", -1),
            Provenance(document="other"),
        ),
        labels={"topic": "drinks", "lang": "de"},
        attributes='{"a":1}',
        mentions=("e-1", "e-2"),
        digest=bytes(range(32)),
    )


_FACT = Fact("Ann likes green tea", "e-1", "likes", "e-2", "green tea", '"tea"')
_PREFERENCE = Preference("no meetings before ten", "calendar", "10:00", -0.5, "e-1")
_ENTITY = Entity("Ann", "person", ("Annie", "安"), "a colleague", True)
_EPISODE = Episode("We met.", "Meeting", "ann", _AT, 0, ("e-1",), Outcome.PARTIAL, ("go",), ("listen",), "m-9")
_PROCEDURE = Procedure("how to brew", "Brewing", ("boil", "wait", "pour"))
_READ = Provenance("s-1", ("1",), ("m-0",), "rules", time=_AT, start=3, end=17)
_DENIAL = Memory(
    "m", Scope("acme", "ann"), Fact("no car", "", "owns", "", "car", "", negated=True), _AT, _AT, provenance=(_READ,)
)
_CONFLICT = Conflict(
    id="c-1",
    subject="e-1",
    attribute="lives_in",
    rule=Rule.NEGATION,
    memories=("m-1", "m-2"),
    created_at=_AT,
    updated_at=_AT + 1,
    policy=Policy.SOURCE_PRIORITY,
    state=ConflictState.UNDONE,
    resolution=Resolution.REPLACED,
    winner="m-2",
    losers=("m-1",),
    resolved_at=_AT + 2,
    resolved_by="planner",
    reason="because",
    severity=0.75,
    evidence=(Evidence("m-1", "m-0", 3, 17),),
    before=(Before("m-1", State.DISPUTED, _AT, 0, _AT + 3, _AT + 4), Before("m-2", State.ACTIVE, _AT)),
    version=3,
    opened=True,
)
_SMALL = Memory("m", Scope("acme", "ann"), Fact("x"), _AT, _AT)

_EVENTS: dict[str, Event] = {
    "fact": MemoryRecorded(Change.CREATED, _full("m-1", _FACT), _VECTORS, "planner", "said so"),
    "preference": MemoryRecorded(Change.MERGED, _full("m-2", _PREFERENCE)),
    "entity": MemoryRecorded(Change.UPDATED, _full("m-3", _ENTITY)),
    "episode": MemoryRecorded(Change.DELETED, _full("m-4", _EPISODE)),
    "procedure": MemoryRecorded(Change.UNDELETED, _full("m-5", _PROCEDURE)),
    "small": MemoryRecorded(Change.CREATED, _SMALL),
    "vectors": VectorsRecorded("m-1", _VECTORS),
    "purge": MemoryPurged("m-1", "admin", "asked to"),
    "feedback": FeedbackGiven("m-1", Verdict.WRONG, Feedback(3, 200, 1), "planner"),
    "denial": MemoryRecorded(Change.SUPERSEDED, _DENIAL),
    "conflict": ConflictRecorded(_CONFLICT, "planner", "said so"),
}

_BYTES: dict[str, str] = {
    "fact": (
        "0a9003080112c8020a036d2d311207706c616e6e65721a03732d312007280352380a13416e6e206c696b657320677265656e"
        "207465611203652d311a056c696b65732203652d322a09677265656e2074656132052274656122a0018080898b948b9103a8"
        "018180898b948b9103b00100b8018280898b948b9103c0018380898b948b9103c8018480898b948b9103d0018580898b948b"
        "9103d8018680898b948b9103f101000000000000e83ff901000000000000d03fc202350a03732d311201311201321a036d2d"
        "30220572756c65732a03646f633207706c616e6e65723a03616e6e40ffffffffffffffffff01c202072a056f74686572ca02"
        "0a0a046c616e6712026465ca020f0a05746f70696312066472696e6b73d202077b2261223a317dda0203652d31da0203652d"
        "32e20220000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f1a07706c616e6e65722207736169"
        "6420736f2a2f0a076d6f64656c2d61100318022220e2c0a71510b5394df7773b63fb5f54372b84c3564e67811bde7d665be2"
        "27976d"
    ),
    "preference": (
        "0acc02080212c7020a036d2d321207706c616e6e65721a03732d31200728035a370a166e6f206d656574696e677320626566"
        "6f72652074656e120863616c656e6461721a0531303a303021000000000000e0bf2a03652d31a0018080898b948b9103a801"
        "8180898b948b9103b00100b8018280898b948b9103c0018380898b948b9103c8018480898b948b9103d0018580898b948b91"
        "03d8018680898b948b9103f101000000000000e83ff901000000000000d03fc202350a03732d311201311201321a036d2d30"
        "220572756c65732a03646f633207706c616e6e65723a03616e6e40ffffffffffffffffff01c202072a056f74686572ca020a"
        "0a046c616e6712026465ca020f0a05746f70696312066472696e6b73d202077b2261223a317dda0203652d31da0203652d32"
        "e20220000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    ),
    "entity": (
        "0abd02080312b8020a036d2d331207706c616e6e65721a03732d312007280362280a03416e6e1206706572736f6e1a05416e"
        "6e69651a03e5ae89220b6120636f6c6c65616775652801a0018080898b948b9103a8018180898b948b9103b00100b8018280"
        "898b948b9103c0018380898b948b9103c8018480898b948b9103d0018580898b948b9103d8018680898b948b9103f1010000"
        "00000000e83ff901000000000000d03fc202350a03732d311201311201321a036d2d30220572756c65732a03646f63320770"
        "6c616e6e65723a03616e6e40ffffffffffffffffff01c202072a056f74686572ca020a0a046c616e6712026465ca020f0a05"
        "746f70696312066472696e6b73d202077b2261223a317dda0203652d31da0203652d32e20220000102030405060708090a0b"
        "0c0d0e0f101112131415161718191a1b1c1d1e1f"
    ),
    "episode": (
        "0acf02080412ca020a036d2d341207706c616e6e65721a03732d31200728036a3a0a075765206d65742e12074d656574696e"
        "671a03616e6e208080898b948b910328003203652d3138034202676f4a066c697374656e52036d2d39a0018080898b948b91"
        "03a8018180898b948b9103b00100b8018280898b948b9103c0018380898b948b9103c8018480898b948b9103d0018580898b"
        "948b9103d8018680898b948b9103f101000000000000e83ff901000000000000d03fc202350a03732d311201311201321a03"
        "6d2d30220572756c65732a03646f633207706c616e6e65723a03616e6e40ffffffffffffffffff01c202072a056f74686572"
        "ca020a0a046c616e6712026465ca020f0a05746f70696312066472696e6b73d202077b2261223a317dda0203652d31da0203"
        "652d32e20220000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    ),
    "procedure": (
        "0abd02080512b8020a036d2d351207706c616e6e65721a03732d312007280372280a0b686f7720746f206272657712074272"
        "6577696e671a04626f696c1a04776169741a04706f7572a0018080898b948b9103a8018180898b948b9103b00100b8018280"
        "898b948b9103c0018380898b948b9103c8018480898b948b9103d0018580898b948b9103d8018680898b948b9103f1010000"
        "00000000e83ff901000000000000d03fc202350a03732d311201311201321a036d2d30220572756c65732a03646f63320770"
        "6c616e6e65723a03616e6e40ffffffffffffffffff01c202072a056f74686572ca020a0a046c616e6712026465ca020f0a05"
        "746f70696312066472696e6b73d202077b2261223a317dda0203652d31da0203652d32e20220000102030405060708090a0b"
        "0c0d0e0f101112131415161718191a1b1c1d1e1f"
    ),
    "small": (
        "0a38080112340a016d2001280152030a0178a0018080898b948b9103a8018080898b948b9103f101000000000000f03ff901"
        "000000000000e03f"
    ),
    "vectors": (
        "12360a036d2d31122f0a076d6f64656c2d61100318022220e2c0a71510b5394df7773b63fb5f54372b84c3564e67811bde7d"
        "665be227976d"
    ),
    "purge": "1a160a036d2d31120561646d696e1a0861736b656420746f",
    "feedback": "22170a036d2d311003180320c80128013207706c616e6e6572",
    "denial": (
        "0a6e0806126a0a016d2001280152150a066e6f206361721a046f776e732a036361723801a0018080898b948b9103a8018080"
        "898b948b9103f101000000000000f03ff901000000000000e03fc202210a03732d311201311a036d2d30220572756c657340"
        "8080898b948b910348035011"
    ),
    "conflict": (
        "2acd010ab8010a03632d311203652d311a086c697665735f696e20032a036d2d312a036d2d32308080898b948b9103388180"
        "898b948b91034008480450055a036d2d3262036d2d31688280898b948b91037207706c616e6e65727a076265636175736581"
        "01000000000000e83f8a010e0a036d2d3112036d2d30180320119201240a036d2d311003188080898b948b91032000288380"
        "898b948b9103308480898b948b91039201100a036d2d321001188080898b948b9103980103a001011207706c616e6e65721a"
        "077361696420736f"
    ),
}

EVENTS = {name: (event, bytes.fromhex(_BYTES[name])) for name, event in _EVENTS.items()}
