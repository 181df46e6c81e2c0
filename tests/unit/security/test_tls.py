"""Mutual TLS 1.3 between processes: real handshakes, over memory."""

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import load_pem_x509_certificate

from aforesaid.core import Misuse, Refused
from aforesaid.security.keyfiles import load_credentials, write_authority, write_nodes
from aforesaid.security.keys import (
    Authority,
    ClusterKey,
    Credentials,
    credentials_of,
    issue,
    make_authority,
    make_cluster_key,
)
from aforesaid.security.tls import client_context, peer_name, server_context

AUTHORITY = make_authority()
LONG_AGO = datetime.now(UTC) - timedelta(days=1000)


class Connection:
    """Both ends of a handshake, and the wires between them."""

    def __init__(self, client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(down, up, server_side=False)
        self.server = server.wrap_bio(up, down, server_side=True)

    def handshake(self) -> None:
        """Until both are done; raises what either of them raises."""
        unfinished = {self.client: None, self.server: None}
        for _ in range(10):
            for end in list(unfinished):
                try:
                    end.do_handshake()
                    del unfinished[end]
                except ssl.SSLWantReadError:
                    pass
            if not unfinished:
                return
        raise AssertionError("the handshake does not end")


def connected(client: Credentials, server: Credentials) -> Connection:
    connection = Connection(client_context(client), server_context(server))
    connection.handshake()
    return connection


def refused(client: ssl.SSLContext, server: ssl.SSLContext) -> str:
    with pytest.raises(ssl.SSLError) as refusal:
        Connection(client, server).handshake()
    return str(refusal.value)


def test_both_ends_know_each_other_by_name() -> None:
    connection = connected(issue(AUTHORITY, "alice"), issue(AUTHORITY, "bob"))
    assert connection.client.version() == "TLSv1.3"
    assert peer_name(connection.client, expected="bob") == "bob"
    assert peer_name(connection.server) == "alice"
    connection.client.write(b"hello")
    assert connection.server.read(5) == b"hello"


def test_another_name_than_the_expected_is_refused() -> None:
    connection = connected(issue(AUTHORITY, "alice"), issue(AUTHORITY, "carol"))
    with pytest.raises(Refused, match="certificate name"):
        peer_name(connection.client, expected="bob")


def test_another_authority_is_refused_by_either_end() -> None:
    bob, mallory = issue(AUTHORITY, "bob"), issue(make_authority(), "alice")
    # Mallory trusts everyone here, so that it is the other end that refuses.
    mallory = replace(mallory, authorities=mallory.authorities + bob.authorities)
    for client, server in ((mallory, bob), (bob, mallory)):
        assert "certificate verify failed" in refused(client_context(client), server_context(server))


def test_expired_and_premature_certificates_are_refused() -> None:
    bob = issue(AUTHORITY, "bob")
    old_authority = make_authority(now=LONG_AGO)
    expired = issue(old_authority, "alice", now=LONG_AGO, days=900)
    peer = issue(old_authority, "bob")
    assert "expired" in refused(client_context(expired), server_context(peer))
    assert "expired" in refused(client_context(peer), server_context(expired))
    premature = issue(AUTHORITY, "alice", now=datetime.now(UTC) + timedelta(days=2))
    assert "not yet valid" in refused(client_context(premature), server_context(bob))


def test_who_shows_no_certificate_is_refused() -> None:
    anonymous = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anonymous.check_hostname = False
    anonymous.load_verify_locations(cadata=issue(AUTHORITY, "x").authorities.decode())
    assert "did not return a certificate" in refused(anonymous, server_context(issue(AUTHORITY, "bob")))


def test_older_versions_are_refused() -> None:
    alice, bob = issue(AUTHORITY, "alice"), issue(AUTHORITY, "bob")
    old = client_context(alice)
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "unsupported protocol" in refused(old, server_context(bob))
    served = server_context(alice)
    served.minimum_version = served.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "unsupported protocol" in refused(client_context(bob), served)


def certificate_of(*names: x509.GeneralName) -> Credentials:
    """A certificate of our authority that was made for something else."""
    like = issue(AUTHORITY, "bob")
    model = load_pem_x509_certificate(like.certificate)
    builder = x509.CertificateBuilder(
        model.issuer,
        model.subject,
        model.public_key(),
        model.serial_number,
        model.not_valid_before_utc,
        model.not_valid_after_utc,
    )
    for extension in model.extensions:
        if not isinstance(extension.value, x509.SubjectAlternativeName):
            builder = builder.add_extension(extension.value, extension.critical)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(AUTHORITY.key, None).public_bytes(serialization.Encoding.PEM)
    return replace(like, certificate=certificate)


@pytest.mark.parametrize(
    "names",
    [
        [],
        [x509.DNSName("bob")],
        [x509.UniformResourceIdentifier("https://bob")],
        [x509.UniformResourceIdentifier("aforesaid:bob"), x509.UniformResourceIdentifier("aforesaid:x")],
        [x509.UniformResourceIdentifier("aforesaid:")],
        [x509.UniformResourceIdentifier("aforesaid:a%20b")],
    ],
)
def test_a_certificate_that_does_not_name_one_process_is_refused(names: list[x509.GeneralName]) -> None:
    connection = connected(issue(AUTHORITY, "alice"), certificate_of(*names))
    with pytest.raises(Refused, match="certificate name"):
        peer_name(connection.client)


def test_a_node_cannot_sign_for_others() -> None:
    """A node's certificate is no authority's."""
    bob = issue(AUTHORITY, "bob")
    key = serialization.load_pem_private_key(bob.key, None)
    posing = issue(Authority(load_pem_x509_certificate(bob.certificate), key), "alice")  # type: ignore[arg-type]
    chained = Credentials("alice", posing.certificate + bob.certificate, posing.key, bob.authorities)
    assert "certificate verify failed" in refused(client_context(chained), server_context(bob))


def test_members_with_nothing_but_a_cluster_key_speak_tls_too() -> None:
    key = make_cluster_key()
    connection = connected(credentials_of("alice", key), credentials_of("bob", key))
    assert peer_name(connection.client, expected="bob") == "bob"
    assert peer_name(connection.server) == "alice"
    stranger = credentials_of("alice", make_cluster_key())
    assert "certificate verify failed" in refused(
        client_context(stranger), server_context(credentials_of("bob", key))
    )


def test_cluster_keys_are_rotated_for_tls_too() -> None:
    old, new = ClusterKey(b"o" * 32), ClusterKey(b"n" * 32)
    steps = [(old,), (old, new), (new, old), (new,)]
    for mine, theirs in pairwise(steps):
        connected(credentials_of("a", *mine), credentials_of("b", *theirs))
        connected(credentials_of("a", *theirs), credentials_of("b", *mine))
    assert refused(client_context(credentials_of("a", old)), server_context(credentials_of("b", new)))


def test_credentials_from_files(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["alice", "bob"])
    connection = connected(load_credentials(tmp_path, "alice"), load_credentials(tmp_path, "bob"))
    assert peer_name(connection.client, expected="bob") == "bob"


def test_a_key_and_a_certificate_that_do_not_go_together_are_a_misuse() -> None:
    alice, bob = issue(AUTHORITY, "alice"), issue(AUTHORITY, "bob")
    for mixed in (
        Credentials("alice", alice.certificate, bob.key, bob.authorities),
        Credentials("alice", alice.certificate, b"", bob.authorities),
        Credentials("alice", alice.certificate, alice.key, b""),
    ):
        with pytest.raises(Misuse, match="alice"):
            client_context(mixed)
