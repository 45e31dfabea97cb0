"""Keys that callers of a rollout server show."""

import secrets

_PREFIX = "osm_rollout_"


def generate_api_key() -> str:
    """A new key, of 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def validate_api_key(provided: str | bytes | None, expected: str) -> bool:
    """Whether a key is the expected one, in a time that does not tell where they differ."""
    if provided is None:
        return False
    given = provided if isinstance(provided, bytes) else provided.encode("utf-8", "surrogatepass")
    return secrets.compare_digest(given, expected.encode("utf-8", "surrogatepass"))


def key_in_header(authorization: bytes | None) -> bytes | None:
    """The key of an ``Authorization`` header: what follows ``Bearer``, or all of it."""
    if authorization is None:
        return None
    header = authorization.strip()
    scheme, _, rest = header.partition(b" ")
    token = rest.strip()
    # "Bearer a b" is no bearer token; like any other scheme it is compared whole, and fails.
    if scheme.lower() == b"bearer" and token and b" " not in token:
        return token
    return header
