"""How traces lie, and where they cannot be had."""

import pytest

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.layout import find_layout
from aforesaid.storage import place

NOBODY = {"fs.s3a.endpoint": "http://127.0.0.1:1", "fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"}


def test_a_store_that_cannot_be_reached_is_told_in_one_line() -> None:
    with pytest.raises(Misuse, match=r"^cannot read s3a://bucket/traces: .*connect") as told:
        find_layout(place("s3a://bucket/traces", NOBODY))
    assert "\n" not in str(told.value)
