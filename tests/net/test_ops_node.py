"""What operators do to `aforesaid node`: odd input, readers that sleep or go, signals, a full disk."""

import json
import os
import resource
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Misuse
from aforesaid.node.operating.control import ask
from net.net_stage import PATIENCE_S, cluster_of_two, command, finished, free_addresses
from net.node_process import write_toml


def config(root: Path, name: str = "alice", **facts: Any) -> Path:
    plain = {key: value for key, value in facts.items() if key != "peers"}
    peers = {"peers": facts["peers"]} if "peers" in facts else {}
    given = {"name": name, "listen": "127.0.0.1:0", "directory": name, "linger_s": 10.0, **plain, **peers}
    return write_toml(root / f"{name}.toml", given)


def pair(root: Path, **facts: Any) -> tuple[Path, Path]:
    a, b = free_addresses(2)
    return (
        config(root, "alice", listen=a, peers={"bob": b}, **facts),
        config(root, "bob", listen=b, peers={"alice": a}, **facts),
    )


@contextmanager
def started(path: Path, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A node that is ready."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command("node", "--config", path), text=True, **pipes, **options) as process:
        try:
            assert "ready" in process.stdout.readline()  # type: ignore[union-attr]
            yield process
        finally:
            process.kill()


def tell(process: "subprocess.Popen[str]", *lines: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
    process.stdin.flush()


BAD = [
    ('{"payload": "\\ud800"}', "surrogates not allowed"),
    ('{"to": [["x"]], "payload": "x"}', '"to" is a list of names'),
    ('{"to": "alice", "payload": "for some"}', '"to" is a list of names'),
    ('{"to": null, "payload": "for some"}', '"to" is a list of names'),
    ('{"too": ["alice"], "payload": "for some"}', "unknown key 'too'"),
    ('{"payload": "x", "payload_base64": "AAA="}', "not both"),
    ('{"payload_base64": "\u00e9"}', "ASCII"),
    ("[" * 60_000, "brackets"),
    ('{"payload": ' + "9" * 5000 + "}", "4300 digits"),
    ('{"payload": "' + "x" * 200_000 + '"}', "a line of more than 185536 bytes"),
]


def test_no_line_ends_a_node_and_none_meant_for_some_goes_to_everyone(tmp_path: Path) -> None:
    """The input is a file, whose last line has no end."""
    escaped = json.dumps({"payload": "\x01" * 20_000})
    text = "\n".join([*(line for line, _ in BAD), escaped, '{"payload": "last"}'])
    (tmp_path / "lines").write_text(text)
    with (tmp_path / "lines").open() as lines:
        ran = finished("node", "--config", config(tmp_path, payload_bytes_max=20_000), stdin=lines)
    assert (ran.returncode, ran.stderr) == (0, "")
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert "ready" in told[0]
    errors = [line["error"] for line in told if "error" in line]
    assert len(errors) == len(BAD)
    for error, (_, part) in zip(errors, BAD, strict=True):
        assert part in error
    assert [line["payload"] for line in told if "origin" in line] == ["\x01" * 20_000, "last"]


def test_an_input_that_is_empty_or_closed_is_one_that_ends(tmp_path: Path) -> None:
    path = config(tmp_path)
    for redirection in ("</dev/null", "<&-", "<&- 2>&-"):
        shell = f"exec {shlex.join(command('node', '--config', path))} {redirection}"
        ran = subprocess.run(
            ["sh", "-c", shell], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, ""), redirection
        assert "ready" in ran.stdout


def test_an_unknown_level_is_a_misuse(tmp_path: Path) -> None:
    ran = finished("node", "--config", config(tmp_path), "--log", "loud", stdin=subprocess.DEVNULL)
    assert ran.returncode == 2
    assert "'loud' is not one of" in ran.stderr


def test_a_signal_closes_in_order_and_a_second_one_at_once(tmp_path: Path) -> None:
    """bob is not there, so that what was said to him stays under way."""
    alice, _ = pair(tmp_path)
    with started(alice) as node:
        tell(node, {"to": ["bob"], "payload": "x"})
        assert "said" in node.stdout.readline()  # type: ignore[union-attr]
        node.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            node.wait(0.3)
        node.send_signal(signal.SIGINT)
        assert node.communicate(timeout=PATIENCE_S) == ("", "")
        assert node.returncode == 128 + signal.SIGINT
    assert not (tmp_path / "alice/control.sock").exists()
    alice, _ = pair(tmp_path, linger_s=0.2)
    with started(alice) as node:
        tell(node, {"to": ["bob"], "payload": "x"})
        assert "said" in node.stdout.readline()  # type: ignore[union-attr]
        node.send_signal(signal.SIGHUP)
        out, err = node.communicate(timeout=PATIENCE_S)
        assert "closed after 0.2 s, before others had everything" in out
        assert json.loads(err)["event"] == "closed too early"
        assert node.returncode == 0


def test_the_end_of_the_input_does_not_wait_longer_than_it_should(tmp_path: Path) -> None:
    alice, _ = pair(tmp_path, linger_s=0.0)
    with started(alice) as node:
        out, _ = node.communicate('{"to": ["bob"], "payload": "x"}\n', timeout=PATIENCE_S)
        assert "closed after 0 s" in out
        assert node.returncode == 0


def test_a_reader_that_sleeps_stops_nothing_and_gets_all_in_the_end(tmp_path: Path) -> None:
    alice, bob = pair(tmp_path, heartbeat_s=0.2)
    count = 400
    with started(bob) as hearing, started(alice) as speaking:
        tell(speaking, *({"to": ["bob"], "payload": "x" * 500} for _ in range(count)))
        for _ in range(count):
            assert "said" in speaking.stdout.readline()  # type: ignore[union-attr]
        assert speaking.communicate(timeout=PATIENCE_S) == ("", "")  # bob has them all, and has told few.
        assert ask(str(tmp_path / "bob"), {"gauges": True})["inbox_messages"] > 0
        hearing.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        out, err = hearing.communicate(timeout=PATIENCE_S)
    assert (out.count("origin"), err) == (count, "")


def test_a_reader_that_has_gone_closes_the_node(tmp_path: Path) -> None:
    with started(config(tmp_path)) as node:
        assert node.stdout is not None
        node.stdout.close()
        tell(node, {"payload": "x"})
        assert node.wait(20) == 0
        assert json.loads(node.stderr.read())["event"] == "nobody reads the output"  # type: ignore[union-attr]


def test_a_directory_is_one_nodes_at_a_time(tmp_path: Path) -> None:
    path = config(tmp_path)
    with started(path) as first:
        held = (tmp_path / "alice/incarnation").read_text()
        second = finished("node", "--config", path, stdin=subprocess.DEVNULL)
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert "a node runs in" in second.stderr
        assert (tmp_path / "alice/incarnation").read_text() == held
        assert ask(str(tmp_path / "alice"), {"peers": True}) == {}
        first.kill()
        first.wait()
    with started(path) as again:
        assert ask(str(tmp_path / "alice"), {"peers": True}) == {}
        again.send_signal(signal.SIGTERM)
        assert again.wait(20) == 0


def test_a_full_disk_ends_the_node_in_one_line(tmp_path: Path) -> None:
    """bob only listens: he has to end although nobody says anything to him."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    alice, bob = pair(tmp_path, linger_s=0.2)
    with started(bob, preexec_fn=small_files) as full, started(alice) as other:
        tell(other, *({"to": ["bob"], "payload": "x"} for _ in range(300)))
        assert full.wait(20) == 2
        out, err = full.communicate()
    *logged, last = err.splitlines()
    assert [json.loads(line)["event"] for line in logged] == ["failed"]
    assert last.startswith("aforesaid: cannot write ")
    assert last.endswith(".segment: File too large")
    assert all(json.loads(line) for line in out.splitlines())


def test_what_a_question_may_be(tmp_path: Path) -> None:
    alice, _ = pair(tmp_path)
    directory = str(tmp_path / "alice")
    with started(alice):
        for label, part in (
            ("zoe#1", "zoe is not in the group: alice, bob"),
            ("bob#0", "counted from 1"),
            ("bob#" + "9" * 5000, "4300 digits"),
        ):
            with pytest.raises(Misuse, match=part):
                ask(directory, {"why": label})
    long = tmp_path / ("\u00fc" * 60)
    with pytest.raises(Misuse, match="too long for a Unix socket"):
        ask(str(long), {"peers": True})


def test_a_cluster_takes_lines_that_come_together_and_ends_its_nodes(tmp_path: Path) -> None:
    directory = tmp_path / "a[b]"
    cluster = cluster_of_two(directory)
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    cluster.stdin.write("p0 one\np0>p1 two\np1\n")
    cluster.stdin.flush()
    heard: list[str] = []
    while sum('"payload"' in line for line in heard) < 3:
        heard.append(cluster.stdout.readline())
        assert heard[-1], heard
    assert f"aforesaid why {directory}/p0\n" in "".join(heard)
    cluster.send_signal(signal.SIGTERM)
    rest = cluster.communicate(timeout=PATIENCE_S)[0]
    assert cluster.returncode == 0
    assert "stopping" in rest
    assert 'type "p0 hello"' in "".join(heard) + rest
    assert not list(directory.rglob("*.sock"))
    again = finished("cluster", 3, "--directory", directory, stdin=subprocess.DEVNULL)
    assert (again.returncode, os.listdir(directory).count("p2.toml")) == (2, 0)
    nowhere = finished("cluster", 2, "--directory", "/proc/none", stdin=subprocess.DEVNULL)
    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (2, 1)
