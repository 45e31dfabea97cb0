"""Judge texts by a rubric: client of the agent-eval engine.

Names load on first use, so that importing the package costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent_eval_rpc._version import __version__

if TYPE_CHECKING:
    from agent_eval_rpc._many.outcome import JudgeOutcome
    from agent_eval_rpc._transports.base import AsyncTransport, Transport
    from agent_eval_rpc.async_client import AsyncClient
    from agent_eval_rpc.client import Client
    from agent_eval_rpc.errors import (
        AgentEvalError,
        AuthenticationError,
        ConfigurationError,
        DeadlineExceededError,
        JudgeError,
        ProviderError,
        RateLimitError,
        RubricNotFoundError,
        ServiceUnavailableError,
        TransportError,
        ValidationError,
    )
    from agent_eval_rpc.models import (
        Check,
        CheckAnswer,
        FailureMode,
        JudgeResult,
        ProviderChoice,
        Rubric,
        RubricDetail,
        RubricDimension,
        RubricList,
        RubricSummary,
        Usage,
        VersionInfo,
        Win,
    )

_HOMES = {
    "AgentEvalError": "errors",
    "AsyncClient": "async_client",
    "AsyncTransport": "_transports.base",
    "AuthenticationError": "errors",
    "Check": "models",
    "CheckAnswer": "models",
    "Client": "client",
    "ConfigurationError": "errors",
    "DeadlineExceededError": "errors",
    "FailureMode": "models",
    "JudgeError": "errors",
    "JudgeOutcome": "_many.outcome",
    "JudgeResult": "models",
    "ProviderChoice": "models",
    "ProviderError": "errors",
    "RateLimitError": "errors",
    "Rubric": "models",
    "RubricDetail": "models",
    "RubricDimension": "models",
    "RubricList": "models",
    "RubricNotFoundError": "errors",
    "RubricSummary": "models",
    "ServiceUnavailableError": "errors",
    "Transport": "_transports.base",
    "TransportError": "errors",
    "Usage": "models",
    "ValidationError": "errors",
    "VersionInfo": "models",
    "Win": "models",
}

__all__ = [
    "AgentEvalError",
    "AsyncClient",
    "AsyncTransport",
    "AuthenticationError",
    "Check",
    "CheckAnswer",
    "Client",
    "ConfigurationError",
    "DeadlineExceededError",
    "FailureMode",
    "JudgeError",
    "JudgeOutcome",
    "JudgeResult",
    "ProviderChoice",
    "ProviderError",
    "RateLimitError",
    "Rubric",
    "RubricDetail",
    "RubricDimension",
    "RubricList",
    "RubricNotFoundError",
    "RubricSummary",
    "ServiceUnavailableError",
    "Transport",
    "TransportError",
    "Usage",
    "ValidationError",
    "VersionInfo",
    "Win",
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
