"""When the breaker lets a call pass."""

from __future__ import annotations

import asyncio

import pytest

from memsidecar.adapters.openai_models.breaker import CircuitBreaker, CircuitOpenError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, cooldown=10, clock=clock)


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(ConnectionError), breaker.attempt((ConnectionError,)):
            raise ConnectionError


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.attempt((ConnectionError,)):
        pass


def test_it_opens_after_failures_in_a_row_only(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    succeed(breaker)
    fail(breaker, 2)
    assert not breaker.is_open
    fail(breaker)
    with pytest.raises(CircuitOpenError) as refused:
        succeed(breaker)
    assert refused.value.retry_after == 10


def test_a_success_after_the_cooldown_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    succeed(breaker)
    assert not breaker.is_open
    fail(breaker, 2)
    assert not breaker.is_open


def test_a_failure_after_the_cooldown_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    fail(breaker)
    clock.now += 9
    with pytest.raises(CircuitOpenError):
        succeed(breaker)


def test_one_call_at_a_time_finds_out(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    with breaker.attempt((ConnectionError,)), pytest.raises(CircuitOpenError):
        succeed(breaker)
    assert not breaker.is_open


def test_a_cancelled_probe_leaves_the_way_to_the_next(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    with pytest.raises(asyncio.CancelledError), breaker.attempt((ConnectionError,)):
        raise asyncio.CancelledError
    assert breaker.is_open
    succeed(breaker)
    assert not breaker.is_open
