"""How a rollout goes from one phase to the next, so that it has one terminal message. Pure.

The message is decided once, by the first event that ends the rollout; whatever happens afterwards
changes neither it nor that it is sent.
"""

from dataclasses import dataclass
from enum import Enum


class Phase(str, Enum):
    """Where a rollout is."""

    QUEUED = "queued"
    RUNNING = "running"
    REPORTING = "reporting"
    DONE = "done"


class Event(Enum):
    """What happens to a rollout."""

    PLACE_FREE = "a place to run is free"
    RETURNED = "the agent returned"
    RAISED = "the agent raised"
    TIME_OVER = "its time is over"
    STOPPED = "the server stops"
    RESTARTED = "the server was started again"
    TAKEN = "the trainer took the message"
    NOT_TAKEN = "the trainer did not take the message"


class Action(Enum):
    """What is to be done next."""

    RUN = "run the agent"
    REPORT = "decide the terminal message and send it"
    SEND_AGAIN = "send the message that was decided"
    FORGET = "give up what it holds"


_ENDINGS = (Event.RETURNED, Event.RAISED, Event.TIME_OVER, Event.STOPPED, Event.RESTARTED)

_NEXT: dict[tuple[Phase, Event], tuple[Phase, Action | None]] = {
    (Phase.QUEUED, Event.PLACE_FREE): (Phase.RUNNING, Action.RUN),
    (Phase.QUEUED, Event.STOPPED): (Phase.REPORTING, Action.REPORT),
    (Phase.QUEUED, Event.RESTARTED): (Phase.REPORTING, Action.REPORT),
    **{(Phase.RUNNING, event): (Phase.REPORTING, Action.REPORT) for event in _ENDINGS},
    (Phase.REPORTING, Event.TAKEN): (Phase.DONE, Action.FORGET),
    (Phase.REPORTING, Event.NOT_TAKEN): (Phase.DONE, Action.FORGET),
    (Phase.REPORTING, Event.RESTARTED): (Phase.REPORTING, Action.SEND_AGAIN),
}


def advance(phase: Phase, event: Event) -> tuple[Phase, Action | None]:
    """The next phase, and what is to be done; an event that comes too late changes nothing."""
    return _NEXT.get((phase, event), (phase, None))


@dataclass
class Lifecycle:
    """The phase of one rollout."""

    phase: Phase = Phase.QUEUED

    def on(self, event: Event) -> Action | None:
        """Takes an event; gives what is to be done."""
        self.phase, action = advance(self.phase, event)
        return action
