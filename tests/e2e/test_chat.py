"""A client of OpenAI, pointed at the engine."""

from typing import Any

import openai
import pytest
from engine import Server
from model_server import ModelServer

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":"Kiel"}'},
}
TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}
QUESTION: Any = {"role": "user", "content": "What is the weather in Kiel?"}


def test_a_tool_loop(server: Server, model_server: ModelServer) -> None:
    asks = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    says = {"role": "assistant", "content": "It rains in Kiel."}
    model_server.script(
        [{"reply": {"message": asks}, "finishReason": "tool_calls"}, {"reply": {"message": says}}]
    )
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        create = client.chat.completions.create
        asked = create(model="m", messages=[QUESTION], tools=[TOOL], temperature=0)
        message = asked.choices[0].message
        assert asked.choices[0].finish_reason == "tool_calls"
        assert message.tool_calls is not None
        assert message.tool_calls[0].to_dict() == CALL
        answer: Any = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
        said: Any = message.model_dump(exclude_none=True)
        told = create(model="m", messages=[QUESTION, said, answer], tools=[TOOL])
        assert told.choices[0].message.content == "It rains in Kiel."
        assert told.usage is not None
        assert told.usage.total_tokens > 0


def test_errors_are_errors_there_too(server: Server, model_server: ModelServer) -> None:
    model_server.script([{"status": 404}])
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        create: Any = client.chat.completions.create
        with pytest.raises(openai.APIStatusError, match="no such model") as caught:
            create(model="m", messages=[QUESTION])
        assert caught.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError, match="stream"):
            create(model="m", messages=[QUESTION], stream=True)
