"""What every test shares."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent_eval_rpc import AsyncClient, Client
from support import AsyncFacade

settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no settings of the person who runs them."""
    for name in list(os.environ):
        if name.startswith(("AGENT_EVAL_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(params=["sync", "async"])
def make_client(request: pytest.FixtureRequest) -> Iterator[Callable[..., Client]]:
    """Makes clients that look alike: what holds for one must hold for the other."""
    opened: list[Any] = []
    loop = asyncio.new_event_loop()

    def make(**options: Any) -> Client:
        client: Any
        if request.param == "sync":
            client = Client(**options)
        else:
            client = AsyncFacade(AsyncClient(**options), loop)
        opened.append(client)
        return client  # type: ignore[no-any-return]

    yield make
    for client in opened:
        client.close()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
