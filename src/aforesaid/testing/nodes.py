"""A pytest fixture: real nodes on free ports of this machine. In the top conftest.py, or in a test's file:

    pytest_plugins = ["aforesaid.testing.nodes"]

    def test_a_picture_comes_before_its_comment(nodes):
        alice, bob, carol = nodes(3)
        alice.broadcast(b"a picture")
        ...

They are those of `aforesaid.blocking`, so that tests need no event loop; one that has a loop of its own
writes `async with aforesaid.Cluster(3)`. It is no entry point of pytest's: who does not name it does not
import it. Nothing is asserted here, so pytest need not rewrite it, nor mind that it was imported before:
PYTEST_DONT_REWRITE.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from aforesaid.blocking import Cluster
from aforesaid.core import Process

Nodes: TypeAlias = Callable[..., Cluster[Any]]
"""`nodes(3)` or `nodes(["alice", "bob"])`, with settings as in `Config`, and `payload`."""


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """Makes a cluster of so many nodes, or of these names; closed when the test is over."""
    with ExitStack() as stack:

        def made(names: int | Iterable[Process], **settings: Any) -> Cluster[Any]:
            # When the test is over nobody waits for what was said.
            return stack.enter_context(Cluster(names, **{"linger_s": 0.0, **settings}))

        yield made
