"""What Pitstop says of a run's mirror.  Pure."""

from __future__ import annotations

from pitstop.events import Event, Notice, UploadFailed, UploadGivenUp


def line_for(event: Event) -> str:
    """What to tell the user about an event of the mirror, empty for others."""
    match event:
        case UploadFailed():
            return f"{event.error} {event.remedy}".strip() + " It is tried again; training goes on."
        case UploadGivenUp():
            return _given_up_line(event)
        case _:
            return ""


def mirror_stands(url: str) -> Notice:
    """At the end of an attempt: nothing is left to be sent."""
    return Notice("mirror_complete", f"{url} is up to date.")


def mirror_lost(last_words: str, *, again: bool) -> Notice:
    """The uploader died; `again`: another one is started."""
    then = "Another one is started." if again else "The next attempt sends what is missing."
    return Notice("mirror_lost", f"the process that keeps the mirror ended: {last_words}.", then)


def _given_up_line(event: UploadGivenUp) -> str:
    missing = ", ".join(event.missing) or "what it lacks is not known"
    return (
        f"the mirror is not complete ({missing}): {event.error.rstrip('.')}."
        " The local folder is; the same command sends the rest."
    )
