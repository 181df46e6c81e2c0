"""Keys: of a certificate authority, of nodes, and of whole clusters.

A node's certificate binds its key to the name of the process, as the URI `aforesaid:NAME`. A cluster key is
the simple mode: 32 random bytes that every member holds, so that members trust each other with their names.

A cluster key also makes certificates: every member derives the same authority from it and signs its own name,
so that the simple mode has the same mutual TLS 1.3, with its forward secrecy, on streams.
"""

import hashlib
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from aforesaid.core import Process
from aforesaid.core.identity import check_name

URI = "aforesaid:"
AUTHORITY_DAYS = 3650
NODE_DAYS = 825
_SKEW = timedelta(minutes=5)
"""Certificates are valid from a little before they are made: clocks differ."""
_ALWAYS = (datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC))
"""When the certificates of a cluster key are valid: it has no date of its own."""

Validity: TypeAlias = tuple[datetime, datetime]


@dataclass(frozen=True)
class Authority:
    """A certificate authority: who has its key decides who is a member, and under which name."""

    certificate: x509.Certificate
    key: Ed25519PrivateKey


@dataclass(frozen=True)
class Credentials:
    """What a node shows, and whom it trusts; PEM."""

    name: Process
    certificate: bytes
    key: bytes = field(repr=False)
    authorities: bytes
    """One certificate or more: while an authority is replaced, both."""


@dataclass(frozen=True)
class ClusterKey:
    """32 bytes that every member holds."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> bytes:
        """Four bytes by which datagrams name the key; they tell nothing about it."""
        return hashlib.sha256(b"aforesaid key id" + self.secret).digest()[:4]


def make_authority(now: datetime | None = None, days: int = AUTHORITY_DAYS) -> Authority:
    """A new authority."""
    return _self_signed("aforesaid authority", Ed25519PrivateKey.generate(), _validity(now, days))


def issue(
    authority: Authority, name: Process, now: datetime | None = None, days: int = NODE_DAYS
) -> Credentials:
    """A new key for a process, and the authority's certificate that it is the process's."""
    return _issue_for(authority, name, _validity(now, days))


def make_cluster_key() -> ClusterKey:
    return ClusterKey(os.urandom(32))


def credentials_of(name: Process, key: ClusterKey, *others: ClusterKey) -> Credentials:
    """What a member shows that has cluster keys only: signed by the first one, trusting them all."""
    mine, *theirs = [_authority_of(each) for each in (key, *others)]
    issued = _issue_for(mine, name, _ALWAYS)
    return replace(issued, authorities=b"".join(pem(each.certificate) for each in (mine, *theirs)))


def certified_names(certificate: x509.Certificate) -> list[Process]:
    """For whom a certificate is: one process, if it is one of ours."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    uris = found.get_values_for_type(x509.UniformResourceIdentifier)
    return [uri.removeprefix(URI) for uri in uris if uri.startswith(URI)]


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def private_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _validity(now: datetime | None, days: int) -> Validity:
    start = now or datetime.now(UTC)
    return start - _SKEW, start + timedelta(days=days)


def _authority_of(key: ClusterKey) -> Authority:
    """The same for every holder of the key: the same private key, under the same name."""
    derivation = HKDF(SHA256(), length=32, salt=None, info=b"aforesaid tls authority 1")
    private = Ed25519PrivateKey.from_private_bytes(derivation.derive(key.secret))
    return _self_signed(f"aforesaid cluster key {key.id.hex()}", private, _ALWAYS)


def _self_signed(title: str, key: Ed25519PrivateKey, validity: Validity) -> Authority:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    builder = (
        _builder(name, name, key, key, validity)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return Authority(builder.sign(key, None), key)


def _issue_for(authority: Authority, name: Process, validity: Validity) -> Credentials:
    check_name(name)
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both_ends = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        _builder(subject, authority.certificate.subject, key, authority.key, validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both_ends), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(URI + name)]), critical=False
        )
    )
    certificate = pem(builder.sign(authority.key, None))
    return Credentials(name, certificate, private_pem(key), pem(authority.certificate))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: Ed25519PrivateKey,
    issuer_key: Ed25519PrivateKey,
    validity: Validity,
) -> x509.CertificateBuilder:
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issuer_id, critical=False)
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
