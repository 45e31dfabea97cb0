"""How an answer of the fake endpoint goes over the wire: encodings, framing, pauses and drops."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """Bytes of one answer, before delays and drops are played."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def head(answer: Answer, *, chunked: bool) -> bytes:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unlisted"
    lines = [f"HTTP/1.1 {answer.status} {phrase}"]
    named = {name.lower() for name, _ in answer.headers}
    if chunked:
        lines.append("transfer-encoding: chunked")
    elif "content-length" not in named:
        lines.append(f"content-length: {len(answer.body)}")
    lines += [f"{name}: {value}" for name, value in answer.headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def timeline(step: Json, answer: Answer) -> list[tuple[float, bytes]]:
    """What is sent, each part with the pause before it in milliseconds."""
    drop, chunks = step.get("drop"), step.get("chunks")
    delay = step.get("delayMs", 0)
    if drop in {"before-headers", "rst"}:
        return [(delay, b"")]
    parts = [(delay, head(answer, chunked=chunks is not None))]
    if drop == "after-headers":
        return parts
    pieces = [answer.body] if chunks is None else _chunked(answer.body, chunks.get("count", 2))
    left = sum(map(len, pieces)) // (2 if drop == "mid-body" else 1)
    pause = step.get("headersThenDelayMs", 0)
    for piece in pieces:
        sent = piece[:left]
        left -= len(sent)
        # What follows without a pause goes out in one write.
        parts.append((pause, sent) if pause else (parts[-1][0], parts.pop()[1] + sent))
        pause = chunks.get("delayMs", 0) if chunks else 0
    return parts


def _chunked(body: bytes, count: int) -> list[bytes]:
    size = max(1, -(-len(body) // count))
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    framed = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return [*framed[:-1], (framed[-1] if framed else b"") + b"0\r\n\r\n"]


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def _brotli(data: bytes) -> bytes:
    """Stored blocks only: the standard library has no brotli, and a reader can't tell."""
    out = bytearray()
    for start in range(0, len(data), 0xFFF0):
        block = data[start : start + 0xFFF0]
        # Bits from the lowest: window size (first block only), not last, 4-nibble length, stored.
        bits = (len(block) - 1) << 3 | 1 << 19
        out += (bits << 1 if start == 0 else bits).to_bytes(3, "little") + block
    return bytes(out) + (b"\x03" if data else b"\x06")


def _zstd(data: bytes) -> bytes:
    """One frame of raw blocks, for the same reason."""
    out = bytearray(b"\x28\xb5\x2f\xfd\xa0") + len(data).to_bytes(4, "little")
    for start in range(0, max(len(data), 1), 0x1_0000):
        block = data[start : start + 0x1_0000]
        last = start + 0x1_0000 >= len(data)
        out += (len(block) << 3 | int(last)).to_bytes(3, "little") + block
    return bytes(out)


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "br": _brotli,
    "zstd": _zstd,
    "deflate": zlib.compress,
}
