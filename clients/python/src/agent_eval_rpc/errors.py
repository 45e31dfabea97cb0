"""Every error of the package.

::

    AgentEvalError
    ├── ValidationError (also a ValueError)    the request is wrong; details["issues"] lists where
    │   └── RubricNeedsChecksError             a local model needs a rubric with checks
    ├── RubricNotFoundError                    no rubric of that name
    ├── NotFoundError                          no such path on the server
    ├── ConflictError                          the same id or key with other content
    ├── AuthenticationError                    token missing or wrong, foreign origin
    ├── BudgetExceededError                    a request or cost limit is used up
    ├── ConfigurationError                     no model, no local model file, no store
    ├── TransportError                         the engine could not be reached, or went away
    │   └── EngineStartError                   the engine does not start; the message says why
    ├── ServiceUnavailableError                shutting down, or the queue is full
    ├── DeadlineExceededError (also a TimeoutError)
    ├── CancelledError                         the call was cancelled
    ├── ProviderError                          the model endpoint failed
    │   ├── RateLimitError                     still limited when the deadline came
    │   └── ContextOverflowError               the content does not fit the model
    ├── JudgeError                             the model answered without a usable verdict
    └── InternalError                          a fault of the engine

Each has ``code``, ``message``, ``details``, ``status`` and ``retryable``.
"""

from agent_eval_rpc._error import AgentEvalError
from agent_eval_rpc._generated.errors import (
    AuthenticationError,
    BudgetExceededError,
    CancelledError,
    ConfigurationError,
    ConflictError,
    ContextOverflowError,
    DeadlineExceededError,
    InternalError,
    JudgeError,
    NotFoundError,
    ProviderError,
    RateLimitError,
    RubricNeedsChecksError,
    RubricNotFoundError,
    ServiceUnavailableError,
    TransportError,
    ValidationError,
)


class EngineStartError(TransportError):
    """The engine does not start, for instance because one of its settings is wrong.

    ``details`` has its ``exitCode`` and, if it said why, ``engineError`` with ``code`` and
    ``message``.
    """


__all__ = [
    "AgentEvalError",
    "AuthenticationError",
    "BudgetExceededError",
    "CancelledError",
    "ConfigurationError",
    "ConflictError",
    "ContextOverflowError",
    "DeadlineExceededError",
    "EngineStartError",
    "InternalError",
    "JudgeError",
    "NotFoundError",
    "ProviderError",
    "RateLimitError",
    "RubricNeedsChecksError",
    "RubricNotFoundError",
    "ServiceUnavailableError",
    "TransportError",
    "ValidationError",
]
