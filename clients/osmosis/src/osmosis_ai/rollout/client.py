"""How a rollout speaks to its trainer: the model, and the terminal message."""

import asyncio
import logging
import random
import time
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote_to_bytes, urlsplit

from osmosis_ai.rollout.completions import CompletionsResult, Counted, read_completion
from osmosis_ai.rollout.config.settings import RolloutSettings, get_settings
from osmosis_ai.rollout.core.exceptions import (
    OsmosisRolloutError,
    OsmosisServerError,
    OsmosisTimeoutError,
    OsmosisTransportError,
    OsmosisValidationError,
)
from osmosis_ai.rollout.core.protocol import LLMClientProtocol
from osmosis_ai.rollout.core.schemas import RolloutMetrics, RolloutResponse, RolloutStatus
from osmosis_ai.rollout.messages import normalize_stop
from osmosis_ai.rollout.retrying import Waits, retry_after_s, verdict_on
from osmosis_ai.rollout.wire_json import lenient_json, strict_json

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self

    from osmosis_ai.rollout.core.schemas import MessageDict

__all__ = ["CompletionsResult", "LLMClientProtocol", "OsmosisLLMClient"]

logger = logging.getLogger(__name__)

CONNECT_S = 10.0
_SHOWN = 300
_SAFE = "".join(map(chr, range(0x21, 0x7F)))

T = TypeVar("T")


@dataclass(frozen=True)
class _Post:
    """One thing to send: where, what, and how often at most."""

    path: str
    body: bytes
    attempts: int
    any_success: bool = False


@dataclass(frozen=True)
class _Outcome:
    """What became of one attempt: an answer or an error."""

    response: "httpx.Response | None" = None
    error: OsmosisRolloutError | None = None
    again: bool = False
    retry_after_s: float | None = None


class OsmosisLLMClient:
    """The trainer as a rollout sees it; an async context manager.

    Rollouts of one event loop share their connections.

    Args:
        server_url: Address of the trainer.
        rollout_id: The rollout, named in every request.
        api_key: Bearer token.
        timeout_seconds: Time for one request in seconds, 300 by default.
        max_retries: Further attempts at a completion, 3 by default.
        complete_rollout_retries: Further attempts at the terminal message, 2 by default.
        settings: Defaults for what is not given; by default those of the process.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the documented parameters
        self,
        server_url: str,
        rollout_id: str,
        api_key: str | None = None,
        timeout_seconds: float | None = None,
        max_retries: int | None = None,
        complete_rollout_retries: int | None = None,
        settings: RolloutSettings | None = None,
    ) -> None:
        chosen = (settings or get_settings()).client
        self.server_url = server_url.rstrip("/")
        self.rollout_id = rollout_id
        self.api_key = api_key
        self.timeout_seconds = _or(timeout_seconds, chosen.timeout_seconds)
        self.max_retries = _or(max_retries, chosen.max_retries)
        self.complete_rollout_retries = _or(
            complete_rollout_retries, chosen.complete_rollout_retries
        )
        self._keepalive = chosen.max_keepalive_connections
        self._places = asyncio.Semaphore(chosen.max_connections)
        self._waits = Waits(chosen.retry_base_delay, chosen.retry_max_delay)
        self._transport: httpx.AsyncBaseTransport | None = None
        self._counted = Counted()

    async def chat_completions(
        self,
        messages: "list[MessageDict]",
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens: int = 512,
        stop: list[str] | str | None = None,
        logprobs: bool = True,
        **kwargs: Any,
    ) -> CompletionsResult:
        """Has the trainer's model take the next turn.

        Args:
            messages: The whole conversation so far.
            temperature: Sampling temperature.
            top_p: Share of the probability that is sampled from.
            max_tokens: Tokens of the answer at most.
            stop: Texts at which the answer ends.
            logprobs: Ask for log probabilities.
            **kwargs: ``model`` is sent; anything else is left out, tools among it: the trainer has
                those from the start of the rollout.

        Raises:
            ValueError: The messages hold what JSON has no word for.
            OsmosisValidationError: The trainer refused, or its answer is no completion.
            OsmosisServerError: It failed in every attempt.
            OsmosisTimeoutError: It did not answer in time in any attempt.
            OsmosisTransportError: It could not be reached.
        """
        ignored = sorted(set(kwargs) - {"model"})
        if ignored:
            logger.debug("Not sent to the trainer: %s", ", ".join(ignored))
        asked = {
            "model": kwargs.get("model") or "default",
            "messages": messages,
            "rollout_id": self.rollout_id,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "stop": normalize_stop(stop),
            "logprobs": logprobs,
        }
        body = strict_json({name: one for name, one in asked.items() if one is not None})
        post = _Post("/v1/chat/completions", body, 1 + self.max_retries)
        response, latency_ms = await self._send(post)
        result = read_completion(response.content, response.status_code, self._where(post))
        self._counted.add(result, latency_ms)
        return result

    async def complete_rollout(
        self,
        status: str,
        final_messages: "list[MessageDict]",
        finish_reason: str = "stop",
        error_message: str | None = None,
        metrics: RolloutMetrics | None = None,
        reward: float | None = None,
    ) -> None:
        """Sends the terminal message; any 2xx takes it.

        Every attempt sends the same bytes, under one ``Idempotency-Key``.

        Args:
            status: ``"COMPLETED"`` or ``"ERROR"``.
            final_messages: The whole conversation.
            finish_reason: Why the rollout ended.
            error_message: What went wrong.
            metrics: What it took; by default what this client counted.
            reward: A finite number.

        Raises:
            ValueError: The status or the reward is not one; nothing was sent.
            OsmosisRolloutError: The trainer did not take it, in the same kinds as for a completion.
        """
        body = terminal_body(
            self.rollout_id,
            status=status,
            final_messages=final_messages,
            finish_reason=finish_reason,
            error_message=error_message,
            metrics=metrics or self.get_metrics(),
            reward=reward,
        )
        await self.send_terminal(body)

    async def send_terminal(self, body: bytes) -> None:
        """Sends a terminal message that ``terminal_body`` made.

        Raises:
            OsmosisRolloutError: The trainer did not take it.
        """
        attempts = 1 + self.complete_rollout_retries
        await self._send(_Post("/v1/rollout/completed", body, attempts, any_success=True))

    def get_metrics(self) -> RolloutMetrics:
        """What the completions took so far."""
        return self._counted.metrics()

    async def close(self) -> None:
        """Gives up its connections; may be called again."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        where = _bare(self.server_url)
        return f"OsmosisLLMClient(server_url={where!r}, rollout_id={self.rollout_id!r})"

    def _get_transport(self) -> "httpx.AsyncBaseTransport":
        if self._transport is None:
            from osmosis_ai.rollout.connections import transport_to  # noqa: PLC0415

            self._transport = transport_to(self.server_url, keepalive=self._keepalive)
        return self._transport

    def _request(self, post: _Post) -> "httpx.Request":
        import httpx  # noqa: PLC0415 - slow to import

        url = httpx.URL(self.server_url + post.path)
        headers = {"content-type": "application/json"}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key}"
        elif url.userinfo:
            headers["authorization"] = f"Basic {b64encode(unquote_to_bytes(url.userinfo)).decode()}"
        if post.any_success:
            headers["idempotency-key"] = quote(f"{self.rollout_id}:completed", safe=_SAFE)
        read_s = self.timeout_seconds
        timeout = {"connect": CONNECT_S, "read": read_s, "write": read_s, "pool": None}
        extensions = {"timeout": timeout}
        return httpx.Request("POST", url, headers=headers, content=post.body, extensions=extensions)

    async def _send(self, post: _Post) -> "tuple[httpx.Response, float]":
        """Sends until it is taken; gives the answer, and the milliseconds of that attempt."""
        for attempt in range(post.attempts):
            started = time.monotonic()
            outcome = await self._attempt(post)
            if outcome.response is not None:
                return outcome.response, (time.monotonic() - started) * 1000
            assert outcome.error is not None  # noqa: S101 - an outcome has one of the two
            if not outcome.again or attempt + 1 == post.attempts:
                raise outcome.error
            wait_s = self._waits.before(attempt, outcome.retry_after_s, random.random())  # noqa: S311
            logger.warning(
                "%s (attempt %d of %d, the next in %.1f s)",
                *(outcome.error, attempt + 1, post.attempts, wait_s),
            )
            await asyncio.sleep(wait_s)
        raise AssertionError("there is always a first attempt")

    async def _attempt(self, post: _Post) -> _Outcome:
        import httpx  # noqa: PLC0415 - slow to import

        where = self._where(post)
        try:
            request = self._request(post)
            async with self._places:
                # Without httpx's client: its cookies, redirects and hooks cost a fifth of a turn.
                response = await self._get_transport().handle_async_request(request)
                await response.aread()
        except httpx.TimeoutException as error:
            text = f"{where}: no answer in time ({type(error).__name__})"
            return _Outcome(error=OsmosisTimeoutError(text), again=True)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            text = f"{where}: {str(error) or type(error).__name__}"
            return _Outcome(error=OsmosisTransportError(text), again=True)
        status = response.status_code
        verdict = verdict_on(status, any_success=post.any_success)
        if verdict == "done":
            return _Outcome(response=response)
        text = f"{where}: status {status}: {self._said(response)}"
        if verdict == "again" and status >= 500:
            failed: OsmosisRolloutError = OsmosisServerError(text, status)
        else:
            failed = OsmosisValidationError(text, status)
        asked = retry_after_s(response.headers.get("retry-after"), time.time())
        return _Outcome(error=failed, again=verdict == "again", retry_after_s=asked)

    def _where(self, post: _Post) -> str:
        return f"POST {_bare(self.server_url)}{post.path}"

    def _said(self, response: "httpx.Response") -> str:
        text = response.text[:_SHOWN].strip() or "(an empty answer)"
        return text if self.api_key is None else text.replace(self.api_key, "***")


def terminal_body(
    rollout_id: str, *, status: str, final_messages: "list[MessageDict]", **fields: Any
) -> bytes:
    """The terminal message of a rollout as it is sent.

    Args:
        rollout_id: The rollout.
        status: ``"COMPLETED"`` or ``"ERROR"``.
        final_messages: The whole conversation; what JSON has no word for becomes null or text.
        **fields: Other fields of ``RolloutResponse``.

    Raises:
        ValueError: A field is not valid.
    """
    response = RolloutResponse(rollout_id=rollout_id, status=RolloutStatus(status), **fields)
    wire = response.model_dump(mode="json", exclude_none=True)
    return lenient_json({**wire, "final_messages": final_messages})


def _or(given: "T | None", default: "T") -> "T":
    return default if given is None else given


def _bare(url: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
