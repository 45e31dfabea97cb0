"""Many rollouts at once."""

import asyncio
import random

import psutil
from scripted_trainer import CHAT, COMPLETED, FAST, Agent, served, trainer


def test_500_rollouts_with_a_trainer_that_fails_every_tenth_time() -> None:
    async def test() -> None:
        chance = random.Random(7)
        faults = [{"status": 500}, {"status": 429}, {"how": "drop"}, {"status": 503}]

        def steps(count: int) -> list[dict[str, object]]:
            return [
                dict(chance.choice(faults)) if chance.random() < 0.1 else {} for _ in range(count)
            ]

        settings = FAST.model_copy(deep=True)
        settings.client.retry_base_delay = 0.1
        settings.client.max_retries = 10
        settings.client.complete_rollout_retries = 10
        settings.client.timeout_seconds = 30
        async with trainer(chat=steps(5000), completed=steps(5000)) as one:
            async with served(Agent(turns=2), settings=settings) as server:
                answers = await asyncio.gather(
                    *(server.init(one.url, f"r{number}") for number in range(500))
                )
                assert {answer.status_code for answer in answers} == {202}
                while server.app.state.rollouts.active_count:
                    await asyncio.sleep(0.02)
                assert server.app.state.rollouts.completed_count == 500
                assert len(one.got(CHAT)) > 1000
                assert len(one.got(COMPLETED)) > 500
                terminals = await one.terminal(500)
                assert {end["rollout_id"] for end in terminals} == {f"r{n}" for n in range(500)}
                assert {end["status"] for end in terminals} == {"COMPLETED"}
                names = {task.get_name() for task in asyncio.all_tasks()}
                assert not [name for name in names if name.startswith("rollout-r")]
            await asyncio.sleep(0.05)
            assert one.open == 0
        kept = psutil.Process().net_connections("tcp")
        assert not [c for c in kept if c.status == "ESTABLISHED" and c.raddr], kept

    asyncio.run(test())
