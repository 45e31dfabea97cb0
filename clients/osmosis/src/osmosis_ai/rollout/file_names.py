"""Names of files for ids that come from elsewhere."""

import hashlib
import re

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def file_name_of(identifier: str) -> str:
    """A file name that stays in its folder; ids that differ have names that differ.

    An id of letters, digits, ``-`` and ``_`` is its own name. Any other gets what of it is safe,
    and a hash of the whole. Names that differ in case only count as different, so on a file system
    that ignores case two of them can share a file.
    """
    if _SAFE.fullmatch(identifier):
        return identifier
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", identifier).strip("_")[:60]
    return f"{readable or 'rollout'}.{digest}"
