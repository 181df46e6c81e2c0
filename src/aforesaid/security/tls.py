"""TLS for streams: version 1.3 only, both ends show certificates, and the name in them is the process's name.

A context verifies that a certificate is of the authority and in force. Whose it is, `peer_name` tells: call
it once the handshake is complete, before anything is believed.
"""

import ssl
import tempfile
from pathlib import Path
from typing import Any

from aforesaid.core import Misuse, Process, Refused
from aforesaid.core.identity import NAME
from aforesaid.security.keys import URI, Credentials


def server_context(credentials: Credentials) -> ssl.SSLContext:
    """For the end that was called."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Every connection proves anew who is there: no session tickets.
    context.num_tickets = 0
    return _prepared(context, credentials)


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """For the end that calls."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Names are of processes, not of hosts: `peer_name` verifies them.
    context.check_hostname = False
    return _prepared(context, credentials)


def peer_name(connection: ssl.SSLObject | ssl.SSLSocket, expected: Process | None = None) -> Process:
    """The process at the other end, which must be the expected one; raises Refused."""
    certificate: Any = connection.getpeercert() or {}
    names: list[Process] = [
        value.removeprefix(URI)
        for kind, value in certificate.get("subjectAltName", ())
        if kind == "URI" and value.startswith(URI)
    ]
    if len(names) != 1 or not NAME.fullmatch(names[0]):
        raise Refused("certificate name")
    if expected is not None and names[0] != expected:
        raise Refused("certificate name")
    return names[0]


def _prepared(context: ssl.SSLContext, credentials: Credentials) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    try:
        context.load_verify_locations(cadata=credentials.authorities.decode())
        _load(context, credentials)
    except (ssl.SSLError, ValueError) as error:
        raise Misuse(f"the key and certificates of {credentials.name} do not go together: {error}") from error
    return context


def _load(context: ssl.SSLContext, credentials: Credentials) -> None:
    """OpenSSL takes a private key from a file only; this one is the owner's, and gone at once."""
    with tempfile.TemporaryDirectory() as directory:
        chain = Path(directory) / "chain.pem"
        chain.touch(0o600)
        chain.write_bytes(credentials.certificate + credentials.key)
        context.load_cert_chain(chain)
