"""`Cluster`: some nodes in this process, with `async with` or with `await` alone."""

import asyncio
import inspect
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Closed, Cluster, Misuse
from net.net_stage import complaints, judged, run, take, until


@pytest.mark.parametrize(
    "facts", [{}, {"transport": "tcp"}, {"algorithm": "waiting"}, {"algorithm": "prc_spray"}]
)
def test_everyone_hears_everyone(facts: dict[str, Any], tmp_path: Path) -> None:
    async def main() -> None:
        async with Cluster(3, directory=tmp_path, **facts) as cluster:
            assert [node.name for node in cluster] == ["p0", "p1", "p2"]
            assert cluster["p1"] is cluster[1]
            assert len(cluster) == 3
            for node in cluster:
                await node.broadcast(node.name.encode())
            for node in cluster:
                assert {message.payload for message in await take(node, 3)} == {b"p0", b"p1", b"p2"}
        with pytest.raises(Closed):
            await cluster[0].broadcast(b"")

    run(main())
    report, _ = judged(tmp_path)
    assert complaints(report) == []


def test_by_name_and_with_await_alone() -> None:
    async def main() -> None:
        cluster = await Cluster(["alice", "bob"])
        alice, bob = cluster
        await alice.send({"bob"}, b"hello")
        assert (await take(bob, 1))[0].origin == "alice"
        assert repr(cluster) == "<Cluster of alice, bob>"
        assert repr(alice) == "<Node alice>"
        with pytest.raises(Misuse, match="no node carol; there are: alice, bob"):
            cluster["carol"]
        await cluster.close()
        await cluster.close()

    run(main())


def test_in_a_console_that_awaits_at_the_top() -> None:
    """As in a notebook: each line is compiled by itself and awaited in one loop."""
    lines = [
        "cluster = await Cluster(2)",
        "r = await cluster[0].broadcast(b'x')",
        "m = await anext(cluster[1])",
    ]

    async def main() -> None:
        names: dict[str, Any] = {"Cluster": Cluster}
        for line in [*lines, "await cluster.close()"]:
            done = eval(compile(line, "<cell>", "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.iscoroutine(done):
                await done
        assert names["m"].payload == b"x"

    run(main())


def test_what_fails_on_the_way_leaves_nothing_open(tmp_path: Path) -> None:
    """The second finds its directory taken: the first is closed again."""

    async def main() -> None:
        async with Cluster(["b"], directory=tmp_path):
            cluster = Cluster(["a", "b"], directory=tmp_path)
            with pytest.raises(Misuse):
                await cluster
            with pytest.raises(Closed):
                await cluster["a"].broadcast(b"")

    run(main())


def test_cancelled_while_it_starts_it_leaves_nothing_open() -> None:
    async def main() -> None:
        for turns in range(10):
            cluster = Cluster(3, transport="tcp")
            starting = asyncio.ensure_future(cluster.__aenter__())
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            if not starting.cancelled():
                await cluster.close()
        await until(lambda: len(asyncio.all_tasks()) == 1, "tasks are left")

    run(main())


@pytest.mark.parametrize(
    ("names", "facts", "words"),
    [
        (0, {}, "Cluster: 1 to 64 nodes, each with a name of its own, not 0"),
        (65, {}, "not 65"),
        (True, {}, "Cluster: True is neither how many nodes nor their names"),
        ("alice", {}, "Cluster: 'alice' is neither how many nodes nor their names"),
        (2.5, {}, r"Cluster: 2\.5 is neither"),
        (["a", "a"], {}, "each with a name of its own, not 2"),
        (["a b"], {}, "'a b': a name has"),
        (2, {"listen": "127.0.0.1:7000"}, "Cluster: listen is another one for each node"),
        (2, {"lingers": 1}, "unknown key `lingers`, did you mean linger_s?"),
        (2, {"algorithm": "nothing"}, "nothing"),
        (2, {"durability": "batch"}, "needs a directory"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(names: Any, facts: dict[str, Any], words: str) -> None:
    with pytest.raises(Misuse, match=words) as caught:
        Cluster(names, **facts)
    assert "\n" not in str(caught.value)


def test_a_cluster_that_was_not_started_says_so() -> None:
    cluster = Cluster(3)
    assert len(cluster) == 3
    with pytest.raises(Misuse, match=r"not been started: async with Cluster\(3\)"):
        cluster[0]
    with pytest.raises(Misuse, match="not been started"):
        list(cluster)


def test_a_cluster_is_entered_once() -> None:
    async def main() -> None:
        async with Cluster(1) as cluster:
            with pytest.raises(Misuse, match="entered once"):
                await cluster

    run(main())
