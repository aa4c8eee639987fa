"""What only an adapter knows to be wrong with the configuration."""

from __future__ import annotations

from memsidecar.adapters.local_models import PROVIDERS, local_embedder
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.config import Config
from memsidecar.domain.errors import InvalidField


def check_settings(config: Config) -> None:
    """Raises InvalidField with the setting's key. To be called before a store or a model is opened, which take long."""
    embedding, redis = config.embedding, config.redis
    if embedding.provider in PROVIDERS:
        made = local_embedder(embedding.provider).dimensions
        if embedding.dimensions not in (0, made):
            raise InvalidField(
                "embedding.dimensions",
                f"is {embedding.dimensions}, but {embedding.provider} makes vectors of {made}; leave it out",
            )
    if redis.url:
        # Connects with its first call only.
        RedisSessions.connect(RedisSettings(redis.connection_url, redis.cluster, redis.ca_file))
