"""Somewhere to put files: here, and in a store."""

import pytest

from aforesaid.storage import Place
from support.s3 import Bucket


@pytest.fixture(params=["a directory", "a bucket"])
def somewhere(request: pytest.FixtureRequest, tmp_path: Place) -> Place:
    if request.param == "a bucket":
        bucket: Bucket = request.getfixturevalue("bucket")
        return bucket.place
    return tmp_path
