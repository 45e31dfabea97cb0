"""Requests made from the OpenAPI document, right ones and wrong ones, against a live server."""

import json
from typing import Any

import httpx
import pytest
import schemathesis
from engine import ROOT, Server
from hypothesis import HealthCheck, Phase, given, settings
from model_server import ModelServer
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

DOCUMENT = json.loads((ROOT / "packages/contract/generated/openapi.json").read_text())
ERRORS = json.loads((ROOT / "packages/contract/generated/errors.json").read_text())
STATUS = {row["code"]: row["http"] for row in ERRORS}
LINES = "application/x-ndjson"
OPERATIONS = [
    (verb, path, mode)
    for path, verbs in DOCUMENT["paths"].items()
    for verb, operation in verbs.items()
    # Any text is a name, so only a body can be wrong.
    for mode in (GenerationMode if "requestBody" in operation else [GenerationMode.POSITIVE])
]
CHECKS = [content_type_conformance, response_schema_conformance, status_code_conformance]


@schemathesis.serializer(LINES)
def line(_: object, value: Any) -> bytes:
    """A batch of one line."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.deserializer(LINES)
def lines(_: object, response: schemathesis.Response) -> Any:
    """The only line of the answer."""
    return json.loads(response.content)


def tame(case: schemathesis.Case) -> None:
    """Takes out of a right request what the server refuses by rules that no schema can say."""
    body = case.body
    if isinstance(body, dict):
        body.pop("provider", None)
        if body.get("quorum", 1) > body.get("samples", 1):
            del body["quorum"]
        if {"model", "models"} <= body.keys():
            del body["models"]
        if "timeoutMs" in body:
            body["timeoutMs"] = max(
                body["timeoutMs"], 60_000
            )  # what is answered is not for the clock
    # Made-up names are never those of a rubric: about half stay, to be missed.
    for place in (body, case.path_parameters):
        for key in ("rubricName", "name"):
            if isinstance(place, dict) and len(place.get(key, "x")) % 2 == 0:
                place[key] = "anti-slop"


def check_error(error: dict[str, Any], status: int) -> None:
    """An error is in the table, with the status that the table says."""
    assert STATUS[error["code"]] == status
    assert error["message"]
    assert error["code"] != "internal_error"


def test_the_server_serves_the_document(server: Server) -> None:
    assert httpx.get(f"{server.url}/openapi.json").json() == DOCUMENT


@pytest.mark.parametrize(("verb", "path", "mode"), OPERATIONS)
def test_every_answer_is_in_the_document(
    server: Server, model_server: ModelServer, verb: str, path: str, mode: GenerationMode
) -> None:
    model_server.script([], default={"mode": "hash"})
    operation = schemathesis.openapi.from_dict(DOCUMENT)[path][verb.upper()]
    right = mode is GenerationMode.POSITIVE
    answered = 0

    @settings(
        max_examples=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: schemathesis.Case) -> None:
        nonlocal answered
        if right:
            tame(case)
        response = case.call(base_url=server.url)
        assert response.headers["x-request-id"]
        error = response.json().get("error")
        if error is None:
            answered += 1
        elif response.status_code == 200:
            check_error(error, STATUS[error["code"]])  # of a line
        else:
            check_error(error, response.status_code)
        assert right or error is not None, "what is wrong is refused"
        case.validate_response(response, checks=CHECKS)

    send()
    assert not right or answered > 0, "no right request was answered"
    assert server.process.poll() is None
