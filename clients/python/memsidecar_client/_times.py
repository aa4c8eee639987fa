"""Python times to protobuf times and back, exact to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400


def to_timestamp(value: datetime | None) -> Timestamp | None:
    """The instant on the wire. Raises TypeError for anything but a datetime, ValueError for one without time zone."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise TypeError(f"expected an aware datetime, got {type(value).__name__}")
    if value.utcoffset() is None:
        raise ValueError(f"{value!r} has no time zone; use datetime.now(UTC) or set tzinfo")
    since = value - _EPOCH
    return Timestamp(seconds=since.days * _DAY + since.seconds, nanos=since.microseconds * 1000)


def from_timestamp(message: Timestamp) -> datetime:
    """The instant in UTC; fractions of a microsecond are cut."""
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def to_duration(value: timedelta | None) -> Duration | None:
    """The span on the wire. Raises TypeError for anything but a timedelta."""
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise TypeError(f"expected a timedelta, got {type(value).__name__}")
    message = Duration()
    message.FromTimedelta(value)
    return message


def from_duration(message: Duration) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
