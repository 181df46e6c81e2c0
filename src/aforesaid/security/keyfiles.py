"""Keys in files. Secrets are written for the owner only, and never over a file that is there.

A directory holds `authority.pem`, `authority.key`, and of each node `NAME.pem` and `NAME.key`. A node needs
`authority.pem` and its own two files; `authority.key` stays with whoever admits members.
"""

import base64
import binascii
import os
import stat
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from aforesaid.core import Misuse, Process
from aforesaid.core.identity import check_name
from aforesaid.security.keys import (
    NODE_DAYS,
    Authority,
    ClusterKey,
    Credentials,
    certified_names,
    issue,
    make_authority,
    make_cluster_key,
    pem,
    private_pem,
)

AUTHORITY = "authority"
_KEY_LINE = "aforesaid-cluster-key-1:"
_PUBLIC, _SECRET = 0o644, 0o600


def write_authority(directory: Path) -> list[Path]:
    """A new authority in authority.pem and authority.key."""
    paths = _paths(directory, AUTHORITY)
    _refuse_to_overwrite(paths)
    authority = make_authority()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"cannot make the directory {directory}: {error.strerror}") from error
    _write(paths[0], pem(authority.certificate), _PUBLIC)
    _write(paths[1], private_pem(authority.key), _SECRET)
    return paths


def write_nodes(directory: Path, names: Sequence[Process], days: int = NODE_DAYS) -> list[Path]:
    """New keys and certificates for processes in NAME.pem and NAME.key, by the authority of the directory."""
    names = list(dict.fromkeys(names))
    for name in names:
        _check_node_name(name)
    paths = [path for name in names for path in _paths(directory, name)]
    _refuse_to_overwrite(paths)
    authority = load_authority(directory)
    for name in names:
        credentials = issue(authority, name, days=days)
        certificate_path, key_path = _paths(directory, name)
        _write(certificate_path, credentials.certificate, _PUBLIC)
        _write(key_path, credentials.key, _SECRET)
    return paths


def write_cluster_key(path: Path) -> ClusterKey:
    """A new cluster key in a file of one line."""
    _refuse_to_overwrite([path])
    key = make_cluster_key()
    _write(path, f"{_KEY_LINE}{base64.b64encode(key.secret).decode()}\n".encode(), _SECRET)
    return key


def load_authority(directory: Path) -> Authority:
    certificate_path, key_path = _paths(directory, AUTHORITY)
    if not key_path.exists():
        raise Misuse(f"{key_path} is missing; make an authority first: aforesaid keys authority {directory}")
    certificate = _parse_certificates(certificate_path)[0]
    key = _key_of(certificate, certificate_path, key_path)
    if not isinstance(key, Ed25519PrivateKey):
        raise Misuse(f"{key_path} is no key of this program's making: Ed25519")
    return Authority(certificate, key)


def load_credentials(directory: Path, name: Process, now: datetime | None = None) -> Credentials:
    """A node's own key and certificate, and the authority's certificate, of one directory.

    Others would turn away a node whose files are not in order, and nobody would tell it why.
    """
    _check_node_name(name)
    certificate_path, key_path = _paths(directory, name)
    authority_path = _paths(directory, AUTHORITY)[0]
    authorities = _parse_certificates(authority_path)
    mine, *chain = _parse_certificates(certificate_path)
    if certified_names(mine) != [name]:
        others = ", ".join(certified_names(mine)) or "no node"
        raise Misuse(f"{certificate_path} is not for {name} but for {others}")
    if not any(_signed(mine, issuer) for issuer in (*authorities, *chain)):
        raise Misuse(f"{certificate_path} is not signed by {authority_path}")
    for path, certificate in ((certificate_path, mine), (authority_path, authorities[0])):
        _check_date(path, certificate, now or datetime.now(UTC))
    _key_of(mine, certificate_path, key_path)
    return Credentials(name, _read(certificate_path), _read_secret(key_path), _read(authority_path))


def load_cluster_key(path: Path) -> ClusterKey:
    text = _read_secret(path).decode(errors="replace").strip()
    try:
        secret = base64.b64decode(text.removeprefix(_KEY_LINE), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not text.startswith(_KEY_LINE) or len(secret) != 32:
        raise Misuse(f"{path} is no cluster key; make one: aforesaid keys cluster {path}")
    return ClusterKey(secret)


def _check_node_name(name: Process) -> None:
    check_name(name)
    if name == AUTHORITY:
        raise Misuse(f"a node cannot be called {AUTHORITY}: its files would be the authority's")


def _paths(directory: Path, name: str) -> list[Path]:
    """Where the certificate and the key of a name are."""
    return [directory / f"{name}.pem", directory / f"{name}.key"]


def _refuse_to_overwrite(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            raise Misuse(f"{path} exists; keys are never overwritten, move it away first")


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        # Created with its mode, and only if it is not there: at no moment can others read it.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
    except OSError as error:
        raise Misuse(f"cannot write {path}: {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Misuse(f"cannot read {path}: {error.strerror}") from error


def _read_secret(path: Path) -> bytes:
    content = _read(path)
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Misuse(f"others can read {path}: chmod 600 {path}, and make a new one if they may have")
    return content


def _parse_certificates(path: Path) -> list[x509.Certificate]:
    """One or more, the first one being whose file it is."""
    try:
        return x509.load_pem_x509_certificates(_read(path))
    except ValueError as error:
        raise Misuse(f"{path} is no certificate in PEM") from error


def _key_of(certificate: x509.Certificate, certificate_path: Path, key_path: Path) -> PrivateKeyTypes:
    content = _read_secret(key_path)
    try:
        key = serialization.load_pem_private_key(content, password=None)
        if key.public_key() == certificate.public_key():
            return key
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise Misuse(f"{key_path} is not the key of {certificate_path}")


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _check_date(path: Path, certificate: x509.Certificate, now: datetime) -> None:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > ends:
        raise Misuse(f"{path} expired on {ends:%Y-%m-%d}; move it and its key away, and make new ones")
    if now < begins:
        raise Misuse(f"{path} is valid from {begins:%Y-%m-%d %H:%M} UTC on: is this machine's clock right?")
