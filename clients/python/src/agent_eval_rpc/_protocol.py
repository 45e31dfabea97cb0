"""What is sent and how answers are read. Pure: no I/O."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from agent_eval_rpc._base import RequestModel, validation_error
from agent_eval_rpc._generated.errors import CLASSES
from agent_eval_rpc._generated.methods import (
    CHAT,
    COMPARE,
    GET_RUBRIC,
    JUDGE,
    LIST_RUBRICS,
    METHODS,
    PACKAGE,
    VERSION,
    WIRE_VERSION,
)
from agent_eval_rpc._generated.models import (
    ChatRequest,
    ChatResult,
    CompareByName,
    CompareByRubric,
    CompareResult,
    GetRubricRequest,
    JudgeByName,
    JudgeByRubric,
    JudgeResult,
    RubricDetail,
    RubricList,
    VersionInfo,
)
from agent_eval_rpc._json import Issue
from agent_eval_rpc._method import Method, ResultT
from agent_eval_rpc._rules import panel_issues, seed_issues
from agent_eval_rpc._version import __version__
from agent_eval_rpc.errors import (
    AgentEvalError,
    DeadlineExceededError,
    TransportError,
    ValidationError,
)

_warned: set[str] = set()

#: The client waits this much longer than the engine, so that the engine's own answer arrives.
GRACE_S = 1.0

Params = dict[str, Any]
NamedT = TypeVar("NamedT", bound=RequestModel)
InlineT = TypeVar("InlineT", bound=RequestModel)


@dataclass(frozen=True)
class Call(Generic[ResultT]):
    """One request, ready to be sent."""

    method: Method[ResultT]
    params: Params


def judge_call(options: Mapping[str, Any]) -> Call[JudgeResult]:
    """Checks the options of a judgement; those that are None count as absent.

    Raises:
        ValidationError: With every issue in ``details["issues"]``.
    """
    return Call(JUDGE, judge_params({k: v for k, v in options.items() if v is not None}))


def judge_params(options: object) -> Params:
    """Checks a judge request and writes it as the wire spells it."""
    what = "judge request"
    request = _by_rubric(JudgeByName, JudgeByRubric, options, what)
    issues = [*panel_issues(request), *seed_issues(request.seed, request.samples)]
    if issues:
        raise validation_error(what, issues)
    return to_params(request)


def compare_call(options: Mapping[str, Any]) -> Call[CompareResult]:
    """Checks the options of a comparison; those that are None count as absent.

    Raises:
        ValidationError: With every issue in ``details["issues"]``.
    """
    given = {k: v for k, v in options.items() if v is not None}
    what = "compare request"
    request = _by_rubric(CompareByName, CompareByRubric, given, what)
    issues = seed_issues(request.seed, request.samples)
    if issues:
        raise validation_error(what, issues)
    return Call(COMPARE, to_params(request))


def chat_call(options: Mapping[str, Any]) -> Call[ChatResult]:
    """Checks the options of a chat; those that are None count as absent.

    Raises:
        ValidationError: With every issue in ``details["issues"]``.
    """
    given = {k: v for k, v in options.items() if v is not None}
    return Call(CHAT, to_params(ChatRequest.model_validate(given)))


def _by_rubric(
    by_name: type[NamedT], by_rubric: type[InlineT], options: object, what: str
) -> NamedT | InlineT:
    """Picks the form of the request by the key that is there, so that every issue has a path."""
    if not isinstance(options, Mapping):
        raise validation_error(what, [Issue("", "must be an object")])
    given = cast("Mapping[str, Any]", options)
    named = "rubricName" in given or "rubric_name" in given
    if named == ("rubric" in given):
        message = (
            "give either rubric_name or rubric, not both"
            if named
            else "give rubric_name (a rubric of the engine) or rubric (your own)"
        )
        raise validation_error(what, [Issue("", message)])
    return (by_name if named else by_rubric).model_validate(given)


def list_rubrics_call() -> Call[RubricList]:
    """Asks for the rubrics of the engine."""
    return Call(LIST_RUBRICS, {})


def get_rubric_call(name: str) -> Call[RubricDetail]:
    """Asks for one rubric."""
    return Call(GET_RUBRIC, to_params(GetRubricRequest(name=name)))


def version_call() -> Call[VersionInfo]:
    """Asks what is running."""
    return Call(VERSION, {})


def to_params(request: RequestModel) -> Params:
    """Writes a request as the wire spells it: what was not given is absent."""
    return request.model_dump(by_alias=True, exclude_unset=True)


def with_deadline(call: Call[Any], left_s: float) -> Params:
    """Adds the engine's deadline to the parameters of a method that takes one."""
    if not call.method.takes_timeout:
        return call.params
    engine_s = max(left_s - GRACE_S, left_s / 2)
    return {**call.params, "timeoutMs": max(1, int(engine_s * 1000))}


def after_start(params: Params, spent_s: float) -> Params:
    """Takes the time that starting the engine took off the engine's deadline."""
    timeout_ms = params.get("timeoutMs")
    if not isinstance(timeout_ms, int) or spent_s < 0.01:
        return params
    return {**params, "timeoutMs": max(1, timeout_ms - int(spent_s * 1000))}


def http_request(method: str, params: Params) -> tuple[str, str, Params | None]:
    """Verb, path and body of a call; parameters named in the path go there."""
    row = METHODS[method]
    if row.http != "GET":
        return row.http, row.path, params
    path = row.path
    for name, value in params.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    return row.http, path, None


def read_result(method: Method[ResultT], value: object) -> ResultT:
    """Checks what the engine answered; fields that this version does not know are skipped."""
    try:
        return method.result.model_validate(value, extra="ignore")
    except ValidationError as error:
        raise TransportError(
            f"The engine answered {method.name} in a form this version cannot read: "
            f"{error.message} Install matching versions of the client and the engine.",
            details=error.details,
        ) from error


def parse_json(text: bytes | str) -> object:
    """Reads JSON, None when it is not."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_from(value: object, *, status: int | None = None) -> AgentEvalError | None:
    """Reads ``{"code", "message", "details"}``, None when it is not of that shape."""
    if not isinstance(value, dict):
        return None
    body = cast("dict[str, Any]", value)
    code, message, details = body.get("code"), body.get("message"), body.get("details")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    known = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    return CLASSES.get(code, AgentEvalError)(message, code=code, details=known, status=status)


def http_error(status: int, body: bytes, retry_after: str | None) -> AgentEvalError:
    """Reads an answer that is not a result."""
    value = parse_json(body)
    inner = cast("dict[str, Any]", value).get("error") if isinstance(value, dict) else None
    error = error_from(inner, status=status)
    if error is None:
        start = body[:200].decode("utf-8", "replace")
        return TransportError(
            f"The server answered with status {status} and no error of ours: is base_url right? "
            f"The answer begins: {start!r}",
            details={"status": status},
            status=status,
        )
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        error.details.setdefault("retryAfterMs", int(retry_after) * 1000)
    return error


def deadline_error(timeout_s: float) -> DeadlineExceededError:
    """The error of a call that the engine did not answer in time."""
    return DeadlineExceededError(
        f"No answer within {round(timeout_s, 2):g} s: raise timeout_s, or look at the engine.",
        details={"timeoutS": timeout_s},
    )


def too_large_error(size: int, limit: int) -> ValidationError:
    """The error of a call that no engine would take."""
    return ValidationError(
        f"The call has {size} bytes, {limit} are allowed: judge a shorter text.",
        code="payload_too_large",
        details={"size": size, "limit": limit},
    )


def closed_error() -> TransportError:
    """The error of a call on a client that was closed."""
    return TransportError("This client is closed: make another one.")


def warn_of_version(value: object) -> None:
    """Says once for each version that client and engine are of different releases."""
    version = cast("dict[str, Any]", value).get("version") if isinstance(value, dict) else None
    if isinstance(version, str) and version != __version__ and version not in _warned:
        _warned.add(version)
        warnings.warn(
            f"agent-eval-rpc {__version__} talks to an engine of version {version[:40]}: install "
            "matching versions.",
            stacklevel=2,
        )


def mismatch(value: object) -> str | None:
    """Why an answer to ``version`` is not that of an engine this client can talk to."""
    if not isinstance(value, dict):
        return "another program answers there"
    info = cast("dict[str, Any]", value)
    wire = info.get("wireVersion")
    if info.get("package") != PACKAGE or not isinstance(wire, str):
        return "another program answers there"
    if wire.split(".")[0] != WIRE_VERSION.split(".")[0]:
        return f"the engine speaks wire version {wire[:20]}, this client {WIRE_VERSION}"
    return None
