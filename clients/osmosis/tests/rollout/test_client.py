"""The client of a rollout by itself."""

import asyncio
import email.utils
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_trainer import ANSWER, CHAT, COMPLETED, FAST, trainer

from osmosis_ai.rollout import (
    LLMClientProtocol,
    OsmosisLLMClient,
    OsmosisRolloutError,
    OsmosisServerError,
    OsmosisTimeoutError,
    OsmosisTransportError,
    OsmosisValidationError,
)
from osmosis_ai.rollout.completions import Counted, read_completion
from osmosis_ai.rollout.retrying import Waits, retry_after_s, verdict_on


@pytest.mark.parametrize(
    ("steps", "kind", "status", "attempts"),
    [
        ([{"status": 400}], OsmosisValidationError, 400, 1),
        ([{"status": 401}], OsmosisValidationError, 401, 1),
        ([{"status": 429}] * 9, OsmosisValidationError, 429, 3),
        ([{"status": 500}] * 9, OsmosisServerError, 500, 3),
        ([{"status": 204}], OsmosisValidationError, 204, 1),
        ([{"status": 307}], OsmosisValidationError, 307, 1),
        ([{"how": "hang"}] * 9, OsmosisTimeoutError, None, 3),
        ([{"how": "drop"}] * 9, OsmosisTransportError, None, 3),
        ([{"body": {"choices": []}}], OsmosisValidationError, 200, 1),
        ([{"body": {"choices": [{}]}}], OsmosisValidationError, 200, 1),
        ([{"body": []}], OsmosisValidationError, 200, 1),
        ([{"text": "<html>"}], OsmosisValidationError, 200, 1),
    ],
)
def test_L8_and_L9_failures_have_their_kinds(
    steps: list[Any], kind: type[OsmosisRolloutError], status: int | None, attempts: int
) -> None:
    async def test() -> None:
        async with trainer(chat=list(steps)) as one:
            async with OsmosisLLMClient(one.url, "r", settings=FAST) as client:
                with pytest.raises(kind) as failed:
                    await client.chat_completions([])
                assert type(failed.value) is kind
                assert getattr(failed.value, "status_code", None) == status
                assert len(one.got(CHAT)) == attempts
                assert client.get_metrics().num_llm_calls == 0

    asyncio.run(test())


def test_an_address_that_is_none_is_a_transport_error() -> None:
    async def test() -> None:
        for url in ("http://127.0.0.1:9", "http://nowhere.invalid"):
            async with OsmosisLLMClient(url, "r", max_retries=0, settings=FAST) as client:
                with pytest.raises(OsmosisTransportError, match="POST http"):
                    await client.chat_completions([])

    asyncio.run(test())


def test_only_the_answered_attempt_counts() -> None:
    async def test() -> None:
        async with trainer(chat=[{"status": 500}, {}]) as one:
            async with OsmosisLLMClient(one.url, "r", settings=FAST) as client:
                assert isinstance(client, LLMClientProtocol)
                result = await client.chat_completions([{"role": "user", "content": "x"}])
                assert result.content == "ok"
                metrics = client.get_metrics()
                assert (metrics.num_llm_calls, metrics.prompt_tokens) == (1, 7)
                assert (metrics.response_tokens, metrics.max_context_tokens) == (3, 10)
                # The wait before the second attempt was at least half of a tenth of a second.
                assert 0 < metrics.llm_latency_ms < 1000

    asyncio.run(test())


def test_what_is_no_message_is_refused_before_it_is_sent() -> None:
    async def test() -> None:
        async with trainer() as one:
            async with OsmosisLLMClient(one.url, "r", settings=FAST) as client:
                with pytest.raises(ValueError, match="DONE"):
                    await client.complete_rollout("DONE", [])
                with pytest.raises(ValueError, match="reward"):
                    await client.complete_rollout("COMPLETED", [], reward=float("nan"))
                with pytest.raises(ValueError, match="not JSON compliant"):
                    await client.chat_completions([{"content": float("nan")}])
                assert one.requests == []
                await client.complete_rollout("COMPLETED", [{"role": "user"}], reward=1.0)
                (sent,) = one.got(COMPLETED)
                assert sent["finish_reason"] == "stop"
                assert "error_message" not in sent
                await client.close()
                await client.close()

    asyncio.run(test())


def test_clients_of_a_loop_share_connections_and_leave_none_behind() -> None:
    async def test() -> None:
        async with trainer() as one:
            for number in range(5):
                async with OsmosisLLMClient(one.url, f"r{number}", settings=FAST) as client:
                    async with OsmosisLLMClient(one.url, "other", settings=FAST) as other:
                        await other.chat_completions([])
                        await client.chat_completions([])
            await asyncio.sleep(0.05)
            assert one.open == 0

    asyncio.run(test())


@pytest.mark.parametrize(
    ("user", "key", "header"),
    [("", None, None), ("us%40er:p%3Aw@", None, "Basic dXNAZXI6cDp3"), ("u:p@", "k", "Bearer k")],
)
def test_who_a_client_says_it_is(user: str, key: str | None, header: str | None) -> None:
    async def test() -> None:
        async with trainer() as one:
            url = one.url.replace("http://", f"http://{user}")
            async with OsmosisLLMClient(url, "r", key, settings=FAST) as client:
                await client.chat_completions([])
            assert one.requests[0].headers.get("authorization") == header

    asyncio.run(test())


def test_a_proxy_is_used_where_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with trainer() as proxy:
            proxy.steps[f"http://far.invalid/x{CHAT}"] = [{"body": ANSWER}]
            monkeypatch.setenv("http_proxy", proxy.url.removeprefix("http://"))
            monkeypatch.setenv("no_proxy", "direct.invalid")
            async with OsmosisLLMClient("http://far.invalid/x", "r", settings=FAST) as client:
                await client.chat_completions([])
            assert [one.path for one in proxy.requests] == [f"http://far.invalid/x{CHAT}"]
            async with trainer() as near:
                async with OsmosisLLMClient(near.url, "r", settings=FAST) as client:
                    await client.chat_completions([])
                assert len(near.requests) == len(proxy.requests) == 1
            async with OsmosisLLMClient("http://direct.invalid", "r", settings=FAST) as client:
                client.max_retries = 0
                with pytest.raises(OsmosisTransportError):
                    await client.chat_completions([])
            assert len(proxy.requests) == 1

    asyncio.run(test())


def test_a_client_shows_no_secret() -> None:
    client = OsmosisLLMClient("http://user:canary@host/", "r", api_key="canary")
    assert "canary" not in repr(client)
    assert client.server_url == "http://user:canary@host"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None), ("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None), ("nan", None),
        ("inf", None), ("", None), (email.utils.formatdate(1060, usegmt=True), 60.0),
        (email.utils.formatdate(10, usegmt=True), 0.0),
    ],
)  # fmt: skip
def test_L9_waits_that_a_trainer_asks_for(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, now=1000.0) == seconds


@given(st.integers(0, 1000), st.floats(0, 1), st.none() | st.floats(0, 1e9))
def test_L9_waits_are_spread_and_have_an_end(
    retry: int, chance: float, asked: float | None
) -> None:
    waits = Waits(base_s=1.0, longest_s=30.0)
    wait = waits.before(retry, asked, chance)
    assert 0 <= wait <= 30
    if asked is not None:
        assert wait == min(asked, 30)
    else:
        whole = min(2.0**retry, 30) if retry < 30 else 30
        assert whole / 2 <= wait <= whole


def test_answers_mean_what_they_say() -> None:
    for status in (200,):
        assert verdict_on(status, any_success=False) == "done"
    for status in (200, 201, 202, 204):
        assert verdict_on(status, any_success=True) == "done"
    for status in (408, 425, 429, 500, 502, 503, 504, 524, 599):
        assert verdict_on(status, any_success=True) == "again"
    for status in (400, 401, 403, 404, 409, 410, 422):
        assert verdict_on(status, any_success=True) == "refused"
    for status in (201, 204, 301, 304, 307):
        assert verdict_on(status, any_success=False) == "odd"


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ("1e999", 0), ("NaN", 0), ("-1", 0), ("true", 0), ("null", 0), ('"7"', 0), ("[]", 0),
        ("7", 7), ("7.9", 7), ("1" * 30, int("1" * 30)),
    ],
)  # fmt: skip
def test_L8_usage_that_is_no_count_counts_nothing(told: str, counted: int) -> None:
    body = f'{{"choices": [{{"message": {{}}}}], "usage": {{"prompt_tokens": {told}}}}}'
    counts = Counted()
    counts.add(read_completion(body.encode(), 200, "POST x"), 1.5)
    metrics = counts.metrics()
    assert (metrics.prompt_tokens, metrics.max_context_tokens) == (counted, counted)
    assert (metrics.num_llm_calls, metrics.llm_latency_ms, metrics.response_tokens) == (1, 1.5, 0)
