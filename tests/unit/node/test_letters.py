"""What letters are on the wire: any bytes come back, and no bytes can hurt."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aforesaid.node.letters import (
    KEY_BYTES,
    MARK,
    TOPICS_MAX,
    Answered,
    Asked,
    Form,
    Letters,
    Published,
    Said,
    Sealed,
    Subscribed,
    opened,
)
from aforesaid.node.messages import Receipt
from aforesaid.node.payloads import codec_of

KEYS = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
TOPICS = st.text(min_size=1, max_size=64)
FORMS = st.one_of(
    st.builds(Said, st.binary()),
    st.builds(Asked, KEYS, st.binary()),
    st.builds(Answered, KEYS, st.binary()),
    st.builds(Published, TOPICS, st.binary()),
    st.builds(Subscribed, st.lists(TOPICS, max_size=TOPICS_MAX)),
)


async def say(targets: object, payload: object) -> Receipt:
    raise NotImplementedError


@given(st.binary() | st.binary().map(MARK.__add__) | FORMS.map(lambda form: Sealed(form).data))
def test_any_bytes_come_back_as_they_were_said(data: bytes) -> None:
    """Also those that look like a letter."""
    form = opened(Letters(codec_of(bytes), say).sealed(data))
    assert form == Said(data)


@given(FORMS)
def test_every_form_comes_back(form: Form) -> None:
    assert opened(Sealed(form).data) == form


@given(st.binary())
def test_no_bytes_hurt(data: bytes) -> None:
    try:
        form = opened(MARK + data)
    except msgspec.DecodeError:
        return
    assert isinstance(form, Form)


@pytest.mark.parametrize(
    "form",
    [
        Asked(b"short", b""),
        Answered(b"x" * (KEY_BYTES + 1), b""),
        Published("", b""),
        Published("x" * 65, b""),
        Subscribed(["x"] * (TOPICS_MAX + 1)),
    ],
)
def test_what_is_out_of_bounds_is_refused(form: Form) -> None:
    with pytest.raises(msgspec.ValidationError):
        opened(Sealed(form).data)


def test_what_is_said_in_json_is_json() -> None:
    assert Letters(codec_of("json"), say).sealed({"a": [1]}) == b'{"a":[1]}'
