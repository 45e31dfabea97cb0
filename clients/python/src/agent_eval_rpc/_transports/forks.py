"""Tells objects that hold pipes, sockets or locks that the process has been forked."""

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What must not be shared between a process and its fork."""

    def after_fork(self) -> None:
        """Drops, in the new process, what belongs to the old one."""
        ...


_live: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def watch(one: Forkable) -> None:
    """Has ``after_fork`` of the object called in every fork, as long as the object lives."""
    _live.add(one)


def _after_fork() -> None:
    for one in list(_live):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
