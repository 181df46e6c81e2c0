"""A configuration's errors: one line each, naming the key."""

from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Misuse

GOOD: dict[str, Any] = {"name": "alice", "listen": "127.0.0.1:7001", "peers": {"bob": "127.0.0.1:7002"}}


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"name": None}, "name: expected `str`, got `null`"),
        ({"nmae": "alice"}, "unknown key `nmae`, did you mean name? known keys: name, algorithm, transport"),
        ({"qqq": 1}, "unknown key `qqq`; known keys: name, algorithm, transport"),
        ({"queues": {"out": 1}}, "queues: unknown key `out`; known keys: out_messages, out_bytes"),
        ({"queues": {"out_messages": 0}}, "queues.out_messages: expected `int` >= 1"),
        ({"listen": "127.0.0.1"}, "listen: '127.0.0.1' is no address: host:port"),
        ({"peers": {"bob": "127.0.0.1:99999"}}, "peers.bob: '127.0.0.1:99999' is no address"),
        ({"peers": {"alice": "127.0.0.1:1"}}, "peers: alice is this node itself"),
        ({"peers": {"b b": "127.0.0.1:1"}}, "'b b': a name has 1 to 64 letters"),
        ({"transport": "quic"}, "transport: invalid enum value 'quic'; there are: udp, tcp"),
        ({"acks": "none"}, "acks: invalid enum value 'none'; there are: automatic, manual"),
        ({"peers": ["bob"]}, "peers: expected a table, got `array`"),
        ({"peers": {"bob": "127.0.0.1:7002", "carol": 7}}, "peers.carol: expected `str`, got `int`"),
        ({"peers": {"bob": "127.0.0.1:7001"}}, "peers.bob: 127.0.0.1:7001 is where this node itself listens"),
        ({"peers": {"bob": "192.0.2.1:7002"}}, "peers.bob: 192.0.2.1:7002 is no loopback address"),
        (
            {"algorithm": "pak"},
            "algorithm: pak runs in the simulator only; nodes run: hybrid_adaptive_multicast",
        ),
        ({"algorithm": "nope"}, "algorithm: nope is no algorithm; nodes run: hybrid_adaptive_multicast"),
        ({"algorithm": "prc_spray"}, "transport: prc_spray needs reliable links and FIFO links"),
        ({"algorithm": "prc_spray", "transport": "tcp"}, "peers: prc_spray has a changing group"),
        ({"contact": "127.0.0.1:1"}, "contact: hybrid_multicast_in_order has a fixed group"),
        (
            {"transport": "tcp", "queues": {"link_bytes": 100_000}},
            "queues.link_bytes: 100000 hold no message of payload_bytes_max (1048576) bytes",
        ),
        ({"options": {"burst": 1}}, "options.burst: hybrid_multicast_in_order has no such option"),
        ({"options": {"resend_ms": 0}}, "options: resend_ms must be a time in milliseconds above 0"),
        ({"security": {"certificates": "keys"}}, "security.certificates: they secure streams"),
        ({"security": {"accept_cluster_keys": ["new.key"]}}, "security.accept_cluster_keys: they go with"),
        (
            {"security": {"certificates": "a", "cluster_key": "b"}},
            "security: either cluster_key or certificates",
        ),
    ],
)
def test_an_error_is_one_line_that_names_the_key(facts: dict[str, Any], line: str) -> None:
    with pytest.raises(Misuse) as error:
        Config.of({**GOOD, **facts})
    assert str(error.value).startswith(line), error.value
    assert "\n" not in str(error.value)


def test_paths_of_a_file_are_relative_to_it(tmp_path: Path) -> None:
    path = tmp_path / "alice.toml"
    path.write_text(
        """
        name = "alice"
        directory = "alice"
        [peers]
        bob = "192.0.2.7:7002"
        [security]
        cluster_key = "keys/cluster.key"
        """
    )
    config = Config.from_file(path)
    assert config.directory == str(tmp_path / "alice")
    assert config.security.cluster_key == str(tmp_path / "keys/cluster.key")
    assert config.group == ("alice", "bob")


def test_a_file_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    with pytest.raises(Misuse, match=f"cannot read {path}: No such file"):
        Config.from_file(path)
    path.write_text("name = ")
    with pytest.raises(Misuse, match=f"{path} is not TOML"):
        Config.from_file(path)
    path.write_text('name = "alice"\nport = 1')
    with pytest.raises(Misuse, match=f"{path}: unknown key `port`"):
        Config.from_file(path)


def test_ipv4_and_ipv6_do_not_reach_each_other_over_udp() -> None:
    with pytest.raises(Misuse, match=r"peers.b: .* one is IPv4, one IPv6"):
        Config(name="a", listen="127.0.0.1:0", peers={"b": "[::1]:7000"}).validate()
