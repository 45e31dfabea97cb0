"""Requests made from the OpenAPI document, right ones and wrong ones, against a live server."""

import json
from typing import Any

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


@pytest.mark.parametrize(("verb", "path", "mode"), OPERATIONS)
def test_every_answer_is_in_the_document(
    server: Server, model_server: ModelServer, verb: str, path: str, mode: GenerationMode
) -> None:
    model_server.script([], default={"mode": "hash"})
    operation = schemathesis.openapi.from_dict(DOCUMENT)[path][verb.upper()]
    statuses: set[int] = set()

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
        response = case.call(base_url=server.url)
        statuses.add(response.status_code)
        assert response.headers["x-request-id"]
        if response.status_code >= 400:
            error = response.json()["error"]
            assert STATUS[error["code"]] == response.status_code
            assert error["message"]
            assert error["code"] != "internal_error"
        case.validate_response(response, checks=CHECKS)

    send()
    if mode is GenerationMode.POSITIVE:
        # Names of rubrics are made up; everything else that fits the schema can be answered.
        assert statuses & ({200, 404} if "{" in path else {200}), statuses
    assert server.process.poll() is None
