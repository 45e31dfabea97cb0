"""Text files that people made with any tool."""

from pathlib import Path

from osmosis_ai.errors import CLIError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> str:
    """The text of a file, without its byte-order mark.

    Raises:
        CLIError: It can't be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CLIError(f"Cannot read '{path}': {error.strerror or error}") from error
    return decoded(data, path)


def decoded(data: bytes, path: Path) -> str:
    """Bytes of a file as text; UTF-8, or UTF-16 that says so.

    Raises:
        CLIError: They are neither.
    """
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CLIError(f"'{path}' is not UTF-8 text: save it as UTF-8 ({error.reason})") from error
