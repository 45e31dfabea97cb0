"""A rollout server as a process of its own, for tests that kill it: PORT FILE TURN_SECONDS."""

import asyncio
import sys
from typing import Any

import uvicorn
from scripted_trainer import FAST

from osmosis_ai.rollout import RolloutAgentLoop, create_app


class Slow(RolloutAgentLoop):
    """Takes a turn, and then its time."""

    name = "slow"

    def get_tools(self, request: Any) -> list[Any]:
        return []

    async def run(self, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        messages.append((await ctx.chat(messages)).message)
        await asyncio.sleep(float(sys.argv[3]))
        return ctx.complete(messages)


if __name__ == "__main__":
    app = create_app(Slow(), settings=FAST, record_path=sys.argv[2])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
