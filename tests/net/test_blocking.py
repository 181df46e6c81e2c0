"""Nodes without `async`: time-outs that lose nothing, threads, Ctrl-C, and an end to everything."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, assert_type

import pytest

from aforesaid import Closed, Config, Misuse, NoAnswer, Queues, blocking
from net.net_stage import PATIENCE_S


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Any:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_messages_come_and_go(transport: str) -> None:
    with blocking.Cluster(["a", "b"], transport=transport) as (a, b):
        receipt = a.send(["b"], b"hello", timeout_s=PATIENCE_S)
        message = b.receive(timeout_s=PATIENCE_S)
        assert (message.origin, message.payload, message.id) == ("a", b"hello", receipt.id)
        assert receipt.delivered(PATIENCE_S) == receipt.stable(PATIENCE_S) == frozenset()
        b.broadcast(b"all")
        assert a.receive(PATIENCE_S).payload == b.receive(PATIENCE_S).payload == b"all"
        assert a.peers == {"b": "connected"}
        assert a.status()["name"] == a.name == "a"
        assert a.ask(lambda node: node.delivered) == 1
        a.drain(timeout_s=PATIENCE_S)


def test_two_nodes_each_with_a_thread_of_its_own() -> None:
    with (
        blocking.Node(Config(name="a", peers={"b": "127.0.0.1:0"})) as a,
        blocking.Node(Config(name="b", peers={"a": "127.0.0.1:0"})) as b,
    ):
        a.introduce({"b": str(b.address)})
        b.introduce({"a": str(a.address)})
        for number in range(100):
            a.send(["b"], b"%d" % number)
        assert [b.receive(PATIENCE_S).payload for _ in range(100)] == [b"%d" % n for n in range(100)]
        a.evict("b")
        assert a.peers == {"b": "evicted"}


def test_types_requests_and_topics() -> None:
    with blocking.Cluster(["a", "b"], payload=dict[str, int]) as (a, b):
        assert_type(a, blocking.Node[dict[str, int]])

        def serve() -> None:
            request = b.receive(PATIENCE_S)
            assert request.asks
            request.reply({"answer": request.payload["question"] + 1}, timeout_s=PATIENCE_S)

        serving = threading.Thread(target=serve)
        serving.start()
        assert a.request("b", {"question": 41}, timeout_s=PATIENCE_S) == {"answer": 42}
        serving.join()
        b.subscribe("news", timeout_s=PATIENCE_S).delivered(PATIENCE_S)
        a.publish("news", {"x": 1})
        message = b.receive(PATIENCE_S)
        assert (message.topic, message.payload) == ("news", {"x": 1})
        b.unsubscribe("news").delivered(PATIENCE_S)
        with pytest.raises(NoAnswer):
            a.request("b", {"question": 1}, timeout_s=0.05)
        with pytest.raises(Misuse, match="nobody could read"):
            a.broadcast({"x": "y"})  # type: ignore[dict-item]


def test_a_time_out_takes_nothing_and_says_nothing() -> None:
    with blocking.Cluster(["a", "b"], queues={"out_messages": 1}, evict_after_s=0) as (a, b):
        with pytest.raises(TimeoutError, match=r"not within 0\.05 s"):
            b.receive(timeout_s=0.05)
        with pytest.raises(TimeoutError, match="not within 0 s"):
            b.receive(timeout_s=0)
        a.evict("b")
        a.broadcast(b"alone")
        assert a.receive(PATIENCE_S).payload == b"alone"
    queues = Queues(out_messages=1)
    with blocking.Node(Config(name="a", peers={"b": "127.0.0.1:9"}, queues=queues, linger_s=0)) as a:
        a.send(["b"], b"1")
        with pytest.raises(TimeoutError):
            a.send(["b"], b"2", timeout_s=0.05)
        assert a.ask(lambda node: node.said) == 1


def test_time_outs_lose_no_message() -> None:
    """However close to the moment in which one comes."""
    with blocking.Cluster(["a", "b"]) as (a, b):
        heard: list[int] = []

        def hear() -> None:
            while len(heard) < 300:
                try:
                    heard.append(int(b.receive(timeout_s=0.0005).payload))
                except TimeoutError:
                    continue

        hearing = threading.Thread(target=hear)
        hearing.start()
        for number in range(300):
            a.send(["b"], b"%d" % number)
        hearing.join(PATIENCE_S)
        assert heard == list(range(300))


def test_many_threads_speak_and_hear() -> None:
    with blocking.Cluster(["a", "b"]) as (a, b), ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda number: a.send(["b"], b"%d" % number).id.number, range(200)))
        assert sorted(said) == list(range(1, 201))
        heard = pool.map(lambda _: int(b.receive(PATIENCE_S).payload), range(200))
        assert sorted(heard) == list(range(200))


def test_a_loop_ends_when_the_node_is_closed_and_so_does_who_waits() -> None:
    heard: list[bytes] = []
    errors: list[Exception] = []

    def hear() -> None:
        for message in node:
            heard.append(message.payload)

    def wait() -> None:
        try:
            node.receive()
        except Closed as error:
            errors.append(error)

    with blocking.Node(Config(name="a")) as node:
        node.broadcast(b"1")
        hearing = threading.Thread(target=hear)
        hearing.start()
        while not heard:
            time.sleep(0.01)
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.05)
    hearing.join(PATIENCE_S)
    waiting.join(PATIENCE_S)
    assert heard == [b"1"]
    assert [str(error) for error in errors] == ["a is closed"]
    for call in (node.receive, lambda: node.send(["a"], b""), lambda: node.peers):
        with pytest.raises(Closed, match="closed"):
            call()


def test_what_cannot_be_is_refused_in_a_line() -> None:
    with pytest.raises(Misuse, match='payload: "jsno" is no form'):
        blocking.Node(Config(name="a"), payload="jsno")
    node = blocking.Node(Config(name="a"))
    with pytest.raises(Closed, match=r"has not been started: with Node\(config\) as node"):
        node.receive()
    with node:
        with pytest.raises(Misuse, match="timeout_s: -1 is no time to wait for"):
            node.receive(timeout_s=-1)
        with pytest.raises(Misuse, match="timeout_s: 'soon' is no time to wait for"):
            node.receive(timeout_s="soon")  # type: ignore[arg-type]
        with pytest.raises(Misuse, match="a payload is bytes, not str"):
            node.broadcast("text")  # type: ignore[arg-type]
        with pytest.raises(Misuse, match="entered once"):
            node.__enter__()
        with pytest.raises(Misuse, match="which cannot wait for itself"):
            node.ask(lambda _: node.peers)
    with pytest.raises(Misuse, match="entered once"):
        node.__enter__()


def test_a_node_that_cannot_start_leaves_no_thread() -> None:
    with blocking.Node(Config(name="a", transport="tcp")) as first:
        second = blocking.Node(Config(name="b", transport="tcp", listen=str(first.address)))
        with pytest.raises(Misuse, match="listen"):
            second.__enter__()


CTRL_C = """
import sys
from aforesaid import Config, blocking

try:
    with blocking.Node(Config(name="a")) as node:
        for number in range(2):
            node.broadcast(b"said")
        print("ready", flush=True)
        for message in node:
            print("took", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_script_in_order() -> None:
    with subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=-1, stderr=-1, text=True) as ran:
        assert ran.stdout is not None
        assert [ran.stdout.readline() for _ in range(3)] == ["ready\n", "took\n", "took\n"]
        ran.send_signal(signal.SIGINT)
        out, complaints = ran.communicate(timeout=PATIENCE_S)
        assert (out, complaints, ran.returncode) == ("interrupted\n", "", 0)


def test_what_an_interrupted_call_has_taken_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with blocking.Cluster(["a", "b"]) as (a, b):
        a.send(["b"], b"1").delivered(PATIENCE_S)
        a.send(["b"], b"2").delivered(PATIENCE_S)
        result = Future.result

        def interrupted(future: Any, timeout: float | None = None) -> Any:
            monkeypatch.setattr(Future, "result", result)
            result(future, timeout)
            raise KeyboardInterrupt

        monkeypatch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            b.receive()
        assert [b.receive(PATIENCE_S).payload for _ in range(2)] == [b"1", b"2"]


def test_acks_by_hand() -> None:
    with blocking.Cluster(["a", "b"], acks="manual") as (a, b):
        a.send(["b"], b"1")
        message = b.receive(PATIENCE_S)
        assert b.ask(lambda node: node.gauges()["inbox_messages"]) == 1
        message.ack()
        assert b.ask(lambda node: node.gauges()["inbox_messages"]) == 0


def test_beside_a_loop_of_the_callers_own() -> None:
    async def main() -> None:
        with blocking.Node(Config(name="a")) as node:
            await asyncio.to_thread(node.broadcast, b"1")
            assert (await asyncio.to_thread(node.receive, PATIENCE_S)).payload == b"1"

    asyncio.run(main())
