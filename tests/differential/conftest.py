"""The fleet's tests begin when its kernels are compiled."""

import pytest

from support.compiling import compile_once


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    compile_once()
