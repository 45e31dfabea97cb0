"""How large the metadata of a rollout may be."""

import json
import threading
from typing import Any, Final

DEFAULT_MAX_METADATA_SIZE_BYTES: Final = 1_048_576

_lock = threading.Lock()
_limit: int | None = None


def get_max_metadata_size_bytes() -> int:
    """The limit in bytes: what was set here, else the setting, 1 MiB by default."""
    with _lock:
        if _limit is not None:
            return _limit
    from osmosis_ai.rollout.config.settings import get_settings  # noqa: PLC0415 - slow to import

    return get_settings().max_metadata_size_bytes


def set_max_metadata_size_bytes(size: int) -> None:
    """Sets the limit in bytes, for every request of this process.

    Raises:
        ValueError: It is not positive.
    """
    if size <= 0:
        raise ValueError(f"max_metadata_size_bytes must be positive, got {size}")
    global _limit  # noqa: PLW0603 - a setting of the process
    with _lock:
        _limit = size


def checked_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata that JSON can hold, within the limit.

    Raises:
        ValueError: It is something else.
    """
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata must be JSON serializable: {error}") from error
    size = len(text.encode("utf-8", "surrogatepass"))
    limit = get_max_metadata_size_bytes()
    if size > limit:
        raise ValueError(f"metadata of {size} bytes exceeds maximum of {limit} bytes")
    return metadata
