"""The configuration's keys, as what seals datagrams and what secures streams."""

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aforesaid.core import Misuse, Process
from aforesaid.ground import ground
from aforesaid.node.config import Config
from aforesaid.wire.packet import Clear, Header

if TYPE_CHECKING:
    from aforesaid.security.keys import ClusterKey, Credentials


def datagram_seals(config: Config, me: Header) -> "Seals":
    """For this start of this node."""
    keys = _cluster_keys(config)
    return Sealed(keys, me) if keys else Plain(me)


def stream_contexts(config: Config) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """For the end that is called and the end that calls; None: in the clear."""
    credentials = _credentials(config)
    if credentials is None:
        return None
    from aforesaid.security.tls import client_context, server_context

    return server_context(credentials), client_context(credentials)


class Plain(Clear):
    """Datagrams that anyone can read and forge."""

    greets = False
    """Whether a peer's session must be known before anything can be said to it."""

    def greet(self) -> bytes:
        return self.seal(b"")

    def forget(self, source: Process, session: bytes) -> None:
        """Nothing is kept of anyone."""

    def rekey(self, config: Config) -> None:
        """There are no keys."""


class Sealed:
    """Datagrams sealed with a cluster key."""

    greets = True

    def __init__(self, keys: "list[ClusterKey]", me: Header) -> None:
        from aforesaid.security.datagrams import SESSION_BYTES, KeyRing, Opener, Sealer

        self.ring = KeyRing(*keys)
        self._sealer = Sealer(self.ring, me, session=ground().urandom(SESSION_BYTES))
        self._opener = Opener(self.ring, me, self._sealer.session)
        self.overhead = self._sealer.overhead
        self.seal = self._sealer.seal
        self.open = self._opener.open
        self.greet = self._sealer.greet

    def forget(self, source: Process, session: bytes) -> None:
        self._sealer.forget(session)

    def rekey(self, config: Config) -> None:
        """Use the keys of this configuration from here on."""
        self.ring.turn_to(*_cluster_keys(config))


Seals: TypeAlias = Plain | Sealed
"""How datagrams are sealed and opened."""


def _cluster_keys(config: Config) -> "list[ClusterKey]":
    if config.security.cluster_key is None:
        return []
    from aforesaid.security.keyfiles import load_cluster_key

    paths = [config.security.cluster_key, *config.security.accept_cluster_keys]
    return [load_cluster_key(Path(path)) for path in paths]


def _credentials(config: Config) -> "Credentials | None":
    if config.security.certificates is not None:
        from aforesaid.security.keyfiles import load_credentials

        return load_credentials(Path(config.security.certificates), config.name)
    keys = _cluster_keys(config)
    if not keys:
        return None
    from aforesaid.security.keys import credentials_of

    try:
        return credentials_of(config.name, *keys)
    except ValueError as error:
        raise Misuse(f"security.cluster_key: {error}") from error
