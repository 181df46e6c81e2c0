"""The PAK family's entries: three settings of one protocol (Baldoni, sections 4 and 5)."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.broadcast.pak.protocol import Pak, validate_credit
from aforesaid.protocols.options import Milliseconds, Options, Positive, keywords


class PakOptions(Options, frozen=True):
    """Settings of PAK, whose credit is 1."""

    k: Annotated[
        Positive | None,
        Meta(description="the modulus of vector times, at least 2 * credit + 1, which is the default"),
    ] = None
    resend_ms: Annotated[
        Milliseconds, Meta(description="send again what was not acknowledged for so long; then it backs off")
    ] = 50.0
    send_queue_max: Annotated[
        int,
        Meta(ge=0, description="how many messages may wait for credit before the sender is told to wait"),
    ] = 1024

    def __post_init__(self) -> None:
        validate_credit(1, self.k, None)


class CreditOptions(PakOptions, frozen=True):
    """Settings of PAK with credits, and of PAK/NAK."""

    credit: Annotated[
        Positive,
        Meta(description="messages under way that not everyone has acknowledged; for PAK/NAK the batch"),
    ] = 3
    receiver_credit: Annotated[
        Positive | None,
        Meta(description="how many messages of one sender may wait here, 1 to credit, which is the default"),
    ] = None

    def __post_init__(self) -> None:
        validate_credit(self.credit, self.k, self.receiver_credit)


def _pak(nak: bool, setup: Setup, options: PakOptions) -> Pak:
    settings = keywords(options, resend_ms="resend_after")
    return Pak(setup.me, setup.group, setup.incarnation, nak=nak, **settings)


ENTRIES = tuple(
    Algorithm(
        name=name,
        title=title,
        sources=(cite("baldoni1998pak", f"{section} (corrected)"),),
        needs=(Need.FIXED_GROUP, Need.DETECTOR),
        promises=(*RELIABLE, *ORDER, "stability"),
        metadata="one number, one bit and n entries of ceil(log2 k) bits",
        make=partial(_pak, name == "pak_nak"),
        options=options,
    )
    for name, title, section, options in (
        ("pak", "positive acknowledgments, one message at a time", "section 4", PakOptions),
        ("pak_credit", "positive acknowledgments with credits", "section 5.1", CreditOptions),
        ("pak_nak", "PAK/NAK, a batch acknowledged at a time", "section 5.2", CreditOptions),
    )
)
