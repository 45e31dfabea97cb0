"""The seam between the clients and what carries their calls."""

from typing import Any, Protocol, runtime_checkable

#: Connections, and so calls in flight, of one client over HTTP.
HTTP_CALLS = 64
#: Calls in flight of one client over stdio: several times what the engine sends on at once.
STDIO_CALLS = 256


@runtime_checkable
class Transport(Protocol):
    """What a ``Client`` sends its calls through; an object of your own fits too.

    ``call`` may be used from many threads at once.
    """

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and returns the result as plain JSON types.

        Args:
            method: Name of the method, such as ``"judge"``.
            params: Its parameters, as the wire spells them.
            timeout_s: How long to wait for the answer.

        Raises:
            AgentEvalError: The engine refused, or could not be reached.
        """
        ...

    def close(self) -> None:
        """Frees what it holds; closing twice is fine."""
        ...


@runtime_checkable
class AsyncTransport(Protocol):
    """What an ``AsyncClient`` sends its calls through; an object of your own fits too."""

    async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and returns the result as plain JSON types."""
        ...

    async def aclose(self) -> None:
        """Frees what it holds; closing twice is fine."""
        ...
