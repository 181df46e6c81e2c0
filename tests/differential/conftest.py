"""The fleet's tests begin when its kernels are compiled."""

import pytest

from differential.compiling import compile_once


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    compile_once(tmp_path_factory.getbasetemp())
