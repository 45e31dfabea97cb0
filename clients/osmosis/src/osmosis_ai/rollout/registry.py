"""Agent loops by name."""

import threading
from typing import TYPE_CHECKING

from osmosis_ai.rollout.core.exceptions import AgentLoopNotFoundError

if TYPE_CHECKING:
    from osmosis_ai.rollout.core.base import RolloutAgentLoop


class AgentLoopRegistry:
    """Agent loops by name; safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: dict[str, RolloutAgentLoop] = {}

    def register(self, loop: "RolloutAgentLoop") -> None:
        """Adds an agent loop under its name.

        Raises:
            ValueError: There is one of that name.
        """
        with self._lock:
            if loop.name in self._loops:
                raise ValueError(f"Agent loop {loop.name!r} is already registered")
            self._loops[loop.name] = loop

    def unregister(self, name: str) -> bool:
        """Removes an agent loop; False where there was none."""
        with self._lock:
            return self._loops.pop(name, None) is not None

    def get(self, name: str) -> "RolloutAgentLoop | None":
        """The agent loop of that name, None where there is none."""
        with self._lock:
            return self._loops.get(name)

    def list_names(self) -> list[str]:
        """The names, in the order they were added."""
        with self._lock:
            return list(self._loops)

    def clear(self) -> None:
        """Removes all."""
        with self._lock:
            self._loops.clear()


_registry = AgentLoopRegistry()


def register_agent_loop(loop: "RolloutAgentLoop") -> None:
    """Adds an agent loop to those of this process.

    Raises:
        ValueError: There is one of that name.
    """
    _registry.register(loop)


def unregister_agent_loop(name: str) -> bool:
    """Removes an agent loop from those of this process; False where there was none."""
    return _registry.unregister(name)


def get_agent_loop(name: str) -> "RolloutAgentLoop":
    """The agent loop of that name in this process.

    Raises:
        AgentLoopNotFoundError: There is none; it names those there are.
    """
    found = _registry.get(name)
    if found is None:
        raise AgentLoopNotFoundError(name, _registry.list_names())
    return found


def list_agent_loops() -> list[str]:
    """The names of the agent loops of this process."""
    return _registry.list_names()
