"""Agents and evaluation functions that the command line is pointed at."""

import asyncio
import threading
from typing import Any

from osmosis_ai import RolloutAgentLoop, osmosis_reward
from osmosis_ai.rollout import create_tool_result, get_tool_call_info

TWO = threading.Barrier(2)


class Talker(RolloutAgentLoop):
    """Takes one turn."""

    name = "talker"

    def get_tools(self, request: Any) -> list[Any]:
        return []

    async def run(self, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        messages.append((await ctx.chat(messages)).message)
        return ctx.complete(messages, reward=0.5)


class Caller(RolloutAgentLoop):
    """Runs a plain-dict tool until the model has enough."""

    name = "caller"

    def get_tools(self, request: Any) -> list[Any]:
        parameters = {"type": "object", "properties": {"tags": {"type": "array", "items": {}}}}
        return [{"type": "function", "function": {"name": "look", "parameters": parameters}}]

    async def run(self, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        while True:
            result = await ctx.chat(messages)
            messages.append(result.message)
            if not result.has_tool_calls:
                return ctx.complete(messages)
            for call in result.tool_calls:
                call_id, _, arguments = get_tool_call_info(call)
                messages.append(create_tool_result(call_id, str(arguments)))


class Unsure(Talker):
    """Fails on some rows."""

    name = "unsure"

    async def run(self, ctx: Any) -> Any:
        if "fail" in ctx.request.messages[-1]["content"]:
            raise RuntimeError("out of ideas")
        return await super().run(ctx)


class Broken(RolloutAgentLoop):
    """Can't be made."""

    name = "broken"

    def __init__(self) -> None:
        raise OSError("no disk")

    def get_tools(self, request: Any) -> list[Any]:
        return []

    async def run(self, ctx: Any) -> Any:
        return None


class Nameless:
    """No agent."""


talker = Talker()


@osmosis_reward
def filled(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    return 1.0 if solution_str and extra_info["user_prompt"] else 0.0


async def turns(messages: list[Any], ground_truth: str, metadata: dict, **kwargs: Any) -> int:
    await asyncio.sleep(0)
    return len(messages)


def meets(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    TWO.wait(20)
    return 1.0


def fails(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    raise RuntimeError("judge is down")


def not_a_number(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
    return float("nan")


def wrong(text: str) -> float:
    return 1.0
