"""The settings that algorithms on overlays have in common."""

from typing import Annotated

from msgspec import Meta

from aforesaid.protocols.options import Milliseconds, Options, Positive


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


Period = Annotated[Milliseconds, Meta(description="how often a process exchanges half of its arcs")]
"""Of Spray."""
PERIOD_MS = 60_000.0
