"""Settings of rollouts: given in code, else from the environment, else from ``.env``, else default.

Each field has a variable of its own, the prefix of its class and the name of the field in capitals,
such as ``OSMOSIS_ROLLOUT_CLIENT_TIMEOUT_SECONDS``.
"""

import threading
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from osmosis_ai._environment import settings_with


class _FromEnvironment(BaseModel):
    """Fields that are not given come from the environment."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    prefix: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        found = settings_with(cls.prefix)
        return {**{name: found[name] for name in cls.model_fields if name in found}, **given}


class RolloutClientSettings(_FromEnvironment):
    """How a rollout speaks to its trainer: ``OSMOSIS_ROLLOUT_CLIENT_…``.

    Attributes:
        timeout_seconds: Time for one request.
        max_retries: Further attempts at a completion.
        complete_rollout_retries: Further attempts at the terminal message.
        retry_base_delay: Seconds before the first retry; doubled for each further one.
        retry_max_delay: Longest wait between attempts in seconds.
        max_connections: Connections at once.
        max_keepalive_connections: Idle connections that are kept.
    """

    prefix = "OSMOSIS_ROLLOUT_CLIENT_"

    timeout_seconds: float = Field(default=300.0, ge=1, le=3600)
    max_retries: int = Field(default=3, ge=0, le=10)
    complete_rollout_retries: int = Field(default=2, ge=0, le=10)
    retry_base_delay: float = Field(default=1.0, ge=0.1, le=60)
    retry_max_delay: float = Field(default=30.0, ge=1, le=300)
    max_connections: int = Field(default=100, ge=1, le=1000)
    max_keepalive_connections: int = Field(default=20, ge=1, le=100)


class RolloutServerSettings(_FromEnvironment):
    """How a rollout server runs: ``OSMOSIS_ROLLOUT_SERVER_…``.

    Attributes:
        max_concurrent_rollouts: Rollouts that run at once; more wait.
        max_queued_rollouts: Rollouts that may wait; more are answered 503.
        max_body_bytes: Largest request.
        record_ttl_seconds: How long a finished rollout is remembered, so that a repeated request
            is not run again.
        cleanup_interval_seconds: Time between looks for what may be forgotten.
        request_timeout_seconds: Time for one rollout from when it starts.
        shutdown_grace_seconds: Time for the terminal messages when the server is told to stop.
        allowed_hosts: Hosts that ``server_url`` may name, with commas between them; by default any
            but link-local and metadata addresses.
        registration_readiness_timeout_seconds: Accepted for callers of before; registration is off.
        registration_readiness_poll_interval_seconds: Likewise.
        registration_shutdown_timeout_seconds: Likewise.
    """

    prefix = "OSMOSIS_ROLLOUT_SERVER_"

    max_concurrent_rollouts: int = Field(default=100, ge=1, le=10_000)
    max_queued_rollouts: int = Field(default=1000, ge=0, le=1_000_000)
    max_body_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, le=1024 * 1024 * 1024)
    record_ttl_seconds: float = Field(default=3600.0, ge=60, le=86_400)
    cleanup_interval_seconds: float = Field(default=60.0, ge=10, le=3600)
    request_timeout_seconds: float = Field(default=600.0, ge=10, le=3600)
    shutdown_grace_seconds: float = Field(default=10.0, ge=0, le=300)
    allowed_hosts: str | None = None
    registration_readiness_timeout_seconds: float = Field(default=10.0, ge=1, le=60)
    registration_readiness_poll_interval_seconds: float = Field(default=0.2, ge=0.05, le=5)
    registration_shutdown_timeout_seconds: float = Field(default=30.0, ge=1, le=300)


class RolloutSettings(_FromEnvironment):
    """All settings of rollouts: ``OSMOSIS_ROLLOUT_…``.

    Attributes:
        client: How a rollout speaks to its trainer.
        server: How a rollout server runs.
        max_metadata_size_bytes: Largest metadata of a request, as JSON in UTF-8.
    """

    prefix = "OSMOSIS_ROLLOUT_"

    client: RolloutClientSettings = Field(default_factory=RolloutClientSettings)
    server: RolloutServerSettings = Field(default_factory=RolloutServerSettings)
    max_metadata_size_bytes: int = Field(default=1_048_576, ge=1024, le=100 * 1024 * 1024)


_lock = threading.Lock()
_current: RolloutSettings | None = None


def get_settings() -> RolloutSettings:
    """The settings of this process, read once.

    Raises:
        pydantic.ValidationError: The environment holds a value out of range.
    """
    global _current  # noqa: PLW0603 - the settings of the process
    with _lock:
        if _current is None:
            _current = RolloutSettings()
        return _current


def configure(settings: RolloutSettings) -> None:
    """Makes these the settings of this process."""
    global _current  # noqa: PLW0603 - the settings of the process
    with _lock:
        _current = settings


def reset_settings() -> None:
    """Has the settings read anew at the next use."""
    global _current  # noqa: PLW0603 - the settings of the process
    with _lock:
        _current = None
