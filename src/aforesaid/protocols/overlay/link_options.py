"""The settings that algorithms on overlays have in common."""

from typing import Annotated, TypedDict

from msgspec import Meta

from aforesaid.core import Nanoseconds
from aforesaid.protocols.options import Milliseconds, Options, Positive, nanoseconds


class DegreeOptions(Options, frozen=True):
    """Of the overlay that founders begin with."""

    degree: Annotated[Positive, Meta(description="how many founders each founder opens a link to")] = 2


class LinkOptions(DegreeOptions, frozen=True):
    """Of links that are opened and closed."""

    handshake_ms: Annotated[Milliseconds, Meta(description="how long an opening or closing may take")] = (
        10_000.0
    )
    tries: Annotated[Positive, Meta(description="how often it is tried")] = 4
    buffer_max: Annotated[Positive, Meta(description="how many messages a link being opened may buffer")] = (
        10_000
    )


class LinkSettings(TypedDict):
    """The same, as the protocols take it."""

    degree: int
    patience: Nanoseconds
    tries: int
    buffer_max: int


def link_settings(options: LinkOptions) -> LinkSettings:
    """What the options say about links, as their protocols take it."""
    return {
        "degree": options.degree,
        "patience": nanoseconds(options.handshake_ms),
        "tries": options.tries,
        "buffer_max": options.buffer_max,
    }
