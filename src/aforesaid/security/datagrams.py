"""Sealed datagrams: AES-256-GCM, one key per sender's session and receiver's session, counters as nonces.

Every process draws a random *session* of eight bytes each time it starts. The key of a datagram is derived
(HKDF-SHA256) from the cluster key, the sender's cluster, name, incarnation and session, and the receiver's
session. The 96-bit nonce is four zero bytes and a counter of 64 bits.

Why a nonce is never used twice with one key: within a session, counters towards one receiver only rise, also
when it was forgotten meanwhile (`_floor`), and struct refuses to pack one above 64 bits; a restart draws a
new session and so has new keys, whether or not the incarnation was durable. Nothing is written to disk. After
fork() the child's sealers seal nothing.

What is refused: whatever was sealed for another receiver, or for an earlier start of this one, since its
session is part of header and key; whatever came before, by a window per sender; and of each name all starts
but the first that sealed something for this session: an older one, a newer one (`Restarted`: it has lost what
the first has promised), and a second claimant of the same incarnation. Of an incarnation that survives its
starts the latest one counts, once it has sealed something for this session; those before it are `Superseded`.

How two processes meet: one does not know the other's session yet, and greets it. A greeting is sealed for
`NOBODY`, has no body, and tells the session; the other answers with a datagram for that session. A greeting
may have been recorded long ago, so nothing follows from it but that answer: who it is counts once it seals
something for this session, which nobody could know before this start.

Rotation of the cluster key: install the new one everywhere, then use it everywhere, then remove the old one.
"""

import os
from struct import Struct
from typing import NamedTuple
from weakref import WeakSet

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from aforesaid.core import Misuse, Process, Refused, new
from aforesaid.protocols.membership.epochs import SUPERSEDED, Restarted, supersedes
from aforesaid.security.keys import ClusterKey
from aforesaid.security.windows import Window
from aforesaid.wire.packet import SEALED, Header, Opened, read_header

SESSION_BYTES = 8
NOBODY = bytes(SESSION_BYTES)
"""The receiver's session in a greeting."""

_SEAL = Struct(">4s8s8s")
"""After the header: the cluster key's id, the sender's session, the receiver's session."""
_COUNTER = Struct(">Q")
_TAG_BYTES = 16
_NONCE_HEAD = bytes(4)
_NAME_LENGTH_AT = 3
_UP_TO_NAME = 28


class Superseded(Refused):
    """A start of a process that was heard in a later one; it has proved that, and can be told."""

    def __init__(self, session: bytes, start: int) -> None:
        super().__init__(SUPERSEDED)
        self.superseded = session, start


class KeyRing:
    """The cluster keys that are accepted, and the one that is used."""

    def __init__(self, using: ClusterKey, *others: ClusterKey) -> None:
        self._keys = {key.id: key for key in (using, *others)}
        self.using = using
        self.changes = 0
        """Counts removals: who has derived keys looks whether they still hold."""

    def install(self, key: ClusterKey) -> None:
        """Accept this key from here on."""
        self._keys[key.id] = key

    def use(self, key_id: bytes) -> None:
        """Seal with this key from here on; the others should have installed it."""
        if key_id not in self._keys:
            raise Misuse(f"the cluster key {key_id.hex()} is not installed")
        self.using = self._keys[key_id]

    def remove(self, key_id: bytes) -> None:
        """Accept this key no more; nobody should use it any more."""
        if key_id == self.using.id:
            raise Misuse(f"the cluster key {key_id.hex()} is in use; use another one first")
        if self._keys.pop(key_id, None) is not None:
            self.changes += 1

    def turn_to(self, using: ClusterKey, *others: ClusterKey) -> None:
        """Use this key and accept these others, and no more."""
        kept = {key.id: key for key in (using, *others)}
        for key in kept.values():
            self.install(key)
        self.use(using.id)
        for key_id in self._keys.keys() - kept.keys():
            self.remove(key_id)

    def find(self, key_id: bytes) -> ClusterKey | None:
        return self._keys.get(key_id)


class Sealer:
    """Seals what one start of one process says."""

    def __init__(
        self, ring: KeyRing, me: Header, session: bytes | None = None, receivers_max: int = 4096
    ) -> None:
        self.ring = ring
        self.session = os.urandom(SESSION_BYTES) if session is None else session
        self.receivers_max = receivers_max
        self._header = me.encode(SEALED)
        self._towards: dict[bytes, _Towards] = {}
        self._floor = 0
        """No counter up to here is used again, towards anyone who is not in `_towards`."""
        _SEALERS.add(self)

    @property
    def overhead(self) -> int:
        """How many bytes a datagram is longer than its body."""
        return len(self._header) + _SEAL.size + _COUNTER.size + _TAG_BYTES

    def greet(self) -> bytes:
        """A greeting, for whoever's session is not known."""
        return self.seal(b"", NOBODY)

    def seal(self, body: bytes, receiver: bytes) -> bytes:
        """The datagram that only this session of the receiver will open, and only once."""
        towards = self._towards.get(receiver)
        if towards is None or towards.key is not self.ring.using:
            towards = self._turn(receiver, towards)
        towards.counter += 1
        counter = _COUNTER.pack(towards.counter)
        clear = towards.prefix + counter
        return clear + towards.cipher.encrypt(_NONCE_HEAD + counter, body, clear)

    def forget(self, receiver: bytes) -> None:
        """The receiver is gone, or has a new session."""
        towards = self._towards.pop(receiver, None)
        if towards is not None:
            self._floor = max(self._floor, towards.counter)

    def _turn(self, receiver: bytes, before: "_Towards | None") -> "_Towards":
        """Towards a new receiver, or with a new key."""
        if before is None and len(self._towards) >= self.receivers_max:
            self.forget(next(iter(self._towards)))
        key = self.ring.using
        prefix = self._header + _SEAL.pack(key.id, self.session, receiver)
        counter = self._floor if before is None else before.counter
        towards = self._towards[receiver] = _Towards(key, prefix, counter)
        return towards


class _Forked(dict[bytes, "_Towards"]):
    """In place of what a sealer keeps of its receivers, in a process that was forked off its own."""

    def get(self, *_: object) -> "_Towards":
        raise Misuse(
            "the process was forked, and would use nonces that its parent uses: make nodes afterwards"
        )


_SEALERS: "WeakSet[Sealer]" = WeakSet()


def _forked() -> None:
    for sealer in _SEALERS:
        sealer._towards = _Forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Opener:
    """Opens what others seal for one start of one process."""

    def __init__(self, ring: KeyRing, me: Header, session: bytes, senders_max: int = 4096) -> None:
        self.ring = ring
        self.me = me
        self.session = session
        self.senders_max = senders_max
        self._known: dict[bytes, _Known] = {}
        """By all that is clear in their datagrams but the counter: those who have proved who they are."""
        self._senders: dict[Process, _Sender] = {}
        self._greeted: dict[Process, tuple[bytes, Window]] = {}
        """Whose greeting was answered last, by name."""
        self._changes = ring.changes

    def open(self, data: bytes) -> Opened:
        """The body of a datagram, from whom the header says it is; raises Refused."""
        if self._changes != self.ring.changes:
            self._drop_removed_keys()
        if len(data) <= _UP_TO_NAME:
            raise Refused("truncated")
        end = _UP_TO_NAME + data[_NAME_LENGTH_AT] + _SEAL.size
        prefix = data[:end]
        known = self._known.get(prefix)
        stranger = known is None
        if known is None:
            known = self._meet(prefix)
        after = end + _COUNTER.size
        counter, sealed = data[end:after], data[after:]
        if len(sealed) < _TAG_BYTES:
            raise Refused("truncated")
        try:
            body = known.cipher.decrypt(_NONCE_HEAD + counter, sealed, data[:after])
        except InvalidTag:
            raise Refused("forged") from None
        if stranger:
            known = self._admit(prefix, known)
        known.window.admit(int.from_bytes(counter))
        if body and known.greets:
            raise Refused("unbound")
        return new(Opened, (known.header, known.session, body, not known.greets))

    def forget(self, source: Process) -> None:
        """The source is gone for good: what it once sealed for this session would be let in again."""
        self._senders.pop(source, None)
        self._greeted.pop(source, None)
        self._known = {at: known for at, known in self._known.items() if known.header.source != source}

    def _meet(self, prefix: bytes) -> "_Known":
        """Someone who has not proved yet who he is: nothing is kept of him."""
        header, end = read_header(prefix, self.me.cluster, SEALED)
        if len(prefix) != end + _SEAL.size:
            raise Refused("truncated")
        key_id, session, receiver = _SEAL.unpack_from(prefix, end)
        if session == self.session:
            raise Refused("reflected")
        if receiver not in (self.session, NOBODY):
            raise Refused("session")
        key = self.ring.find(key_id)
        if key is None:
            raise Refused("key")
        return _Known(_cipher(key, prefix), key_id, header, session, receiver == NOBODY, Window())

    def _admit(self, prefix: bytes, known: "_Known") -> "_Known":
        """He has proved that a member sealed it, under this name: is the name his?"""
        source, incarnation = known.header.source, known.header.incarnation
        sender = self._senders.get(source)
        if sender is not None and sender.session != known.session:
            if sender.incarnation != incarnation:
                raise Restarted(source) if sender.incarnation < incarnation else Refused("incarnation")
            if known.header.start == sender.start:
                raise Refused("claimed")
            try:
                supersedes(known.header.start, sender.start)
            except Refused:
                raise Superseded(known.session, known.header.start) from None
            if not known.greets:
                self.forget(source)
                sender = None
        if known.greets:
            known = known._replace(window=self._greeting(source, known.session))
        else:
            sender = sender or self._new_sender(known.header, known.session)
            known = known._replace(window=sender.window)
            self._known[prefix] = known
        return known

    def _greeting(self, source: Process, session: bytes) -> Window:
        """Of each name the greetings of one session are remembered: who greets again is answered again."""
        if source == self.me.source:
            raise Refused("claimed")
        greeted, window = self._greeted.get(source, (b"", Window()))
        if greeted != session:
            if source not in self._greeted and len(self._greeted) >= self.senders_max:
                raise Refused("senders")
            window = Window()
        self._greeted[source] = session, window
        return window

    def _new_sender(self, header: Header, session: bytes) -> "_Sender":
        source = header.source
        if source == self.me.source:
            raise Refused("claimed")
        if len(self._senders) >= self.senders_max:
            raise Refused("senders")
        sender = self._senders[source] = _Sender(header.incarnation, header.start, session, Window())
        return sender

    def _drop_removed_keys(self) -> None:
        self._changes = self.ring.changes
        self._known = {at: known for at, known in self._known.items() if self.ring.find(known.key_id)}


class _Towards:
    """What a sealer keeps of one receiver."""

    __slots__ = ("cipher", "counter", "key", "prefix")

    def __init__(self, key: ClusterKey, prefix: bytes, counter: int) -> None:
        self.key = key
        self.prefix = prefix
        self.cipher = _cipher(key, prefix)
        self.counter = counter
        """The last one used."""


class _Sender(NamedTuple):
    """What an opener keeps of one name."""

    incarnation: int
    start: int
    session: bytes
    window: Window


class _Known(NamedTuple):
    """A sender with one cluster key, for this session or for nobody."""

    cipher: AESGCM
    key_id: bytes
    header: Header
    session: bytes
    greets: bool
    window: Window


def derived_key(key: ClusterKey, prefix: bytes) -> bytes:
    """The key of all datagrams that begin with this prefix: it holds all that the key depends on."""
    derivation = HKDF(SHA256(), length=32, salt=None, info=b"aforesaid datagram 1" + prefix)
    return derivation.derive(key.secret)


def _cipher(key: ClusterKey, prefix: bytes) -> AESGCM:
    return AESGCM(derived_key(key, prefix))
