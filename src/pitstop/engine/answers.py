"""What the supervisor answers where it does not do what was asked for."""

from __future__ import annotations

from pitstop.link.messages import MalformedMessage, Message, NoImage, Refusal


def reason_of(answer: Message) -> str:
    """Why the supervisor does not do what was asked for."""
    match answer:
        case Refusal(reason) | MalformedMessage(reason) | NoImage(_, reason):
            return reason
        case _:
            return f"it answered {answer.type}"
