"""Sessions in a server that speaks the Redis protocol (Redis 6.2 and later, Valkey), alone or as a cluster."""

from memsidecar.adapters.redis_sessions.failures import kind_of
from memsidecar.adapters.redis_sessions.settings import RedisSettings
from memsidecar.adapters.redis_sessions.store import RedisSessions

__all__ = ["RedisSessions", "RedisSettings", "kind_of"]
