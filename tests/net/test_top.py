"""`aforesaid top`, and `aforesaid why` without a message: a cluster at a glance."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from net.net_stage import PATIENCE_S, command, finished
from net.test_ops_node import pair, started, tell


def test_top_tells_who_is_up_who_is_down_and_what_waits_for_whom(tmp_path: Path) -> None:
    alice, bob = pair(tmp_path, linger_s=0.0)
    with started(alice) as node:
        with started(bob):
            ran = finished("top", tmp_path, "--once", "--every", "0.1")
            assert ran.returncode == 0, ran.stderr
            title, *rows = ran.stdout.splitlines()
            assert title.split()[:4] == ["node", "state", "peers", "said/s"]
            assert [row.split()[:2] for row in rows] == [["alice", "running"], ["bob", "running"]]
        tell(node, {"to": ["bob"], "payload": "bob was killed"})
        assert "said" in node.stdout.readline()  # type: ignore[union-attr]
        ran = finished("top", tmp_path / "alice", tmp_path / "bob", "--json")
        assert ran.returncode == 3
        up, down = json.loads(ran.stdout)
        assert (up["name"], up["state"], up["said"], up["queues"]["under_way"]) == ("alice", "running", 1, 1)
        ((wait, why),) = ((each, each["message"].endswith("#1")) for each in up["waits"])
        assert (wait["peer"], why) == ("bob", True)
        assert (down["name"], down["state"]) == ("bob", "down")
        assert "no node runs in" in down["why"]

        ran = finished("why", tmp_path / "alice")
        words = " ".join(ran.stdout.split())
        assert "what waits longest" in words
        assert "#1 was sent to bob, whose ack is missing." in words
        answer = json.loads(finished("why", tmp_path / "alice", "--json").stdout)
        assert [each["peer"] for each in answer["waits"]] == list(answer["peers"]) == ["bob"]


def test_top_on_a_terminal_goes_on_until_it_is_interrupted(tmp_path: Path) -> None:
    alice, _ = pair(tmp_path, linger_s=0.0)
    ours, theirs = pty.openpty()
    with started(alice):
        top = command("top", tmp_path, "--every", "0.1")
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
        with subprocess.Popen(top, stdout=theirs, stderr=subprocess.PIPE, env=environment) as live:
            os.close(theirs)
            shown = b""
            while shown.count(b"alice") < 3:
                shown += os.read(ours, 4096)
            live.send_signal(signal.SIGINT)
            _, errors = live.communicate(timeout=PATIENCE_S)
            assert (live.returncode, errors) == (0, b"")
    os.close(ours)


@pytest.mark.parametrize(("place", "words"), [("", "no node ever ran in"), ("x", "is no directory")])
def test_top_of_no_node_is_one_line(tmp_path: Path, place: str, words: str) -> None:
    ran = finished("top", tmp_path / place)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert words in ran.stderr
