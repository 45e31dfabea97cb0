"""What a row of the method table says."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from agent_eval_rpc._base import WireModel

ResultT = TypeVar("ResultT", bound=WireModel)


@dataclass(frozen=True)
class Method(Generic[ResultT]):
    """A method of the engine.

    Attributes:
        name: Its name on stdio.
        http: HTTP verb.
        path: HTTP path; ``{name}`` stands for the parameter of that name.
        result: Type of what it answers.
        takes_timeout: Whether its parameters have ``timeoutMs``.
    """

    name: str
    http: str
    path: str
    result: type[ResultT]
    takes_timeout: bool


@dataclass(frozen=True)
class LinesMethod:
    """A method that takes and gives lines of JSON, over HTTP.

    Attributes:
        name: Its name.
        path: HTTP path, for POST.
    """

    name: str
    path: str
