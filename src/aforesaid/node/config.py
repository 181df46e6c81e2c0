"""A node's configuration: a TOML file, or a `Config` in a program. Every error is one line naming the key."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from aforesaid.core import Misuse, Process, meant
from aforesaid.core.identity import check_name
from aforesaid.protocols.algorithm import Need
from aforesaid.protocols.catalog import CATALOG, Algorithm, algorithm
from aforesaid.protocols.outside import absolute
from aforesaid.transport.address import Address
from aforesaid.wire import shapes_of

Seconds = Annotated[float, Meta(gt=0, le=1e6)]
SecondsOrNever = Annotated[float, Meta(ge=0, le=1e6)]
Messages = Annotated[int, Meta(ge=1, le=2**24)]
Bytes = Annotated[int, Meta(ge=1024, le=2**40)]
PayloadBytes = Annotated[int, Meta(ge=1024, le=64 * 2**20)]
"""A payload is copied, hashed and sealed whole: larger ones would hold the loop for too long."""

RETENTION_BYTES_MIN = 64 * 1024

FEARSOME = "allow_plaintext_on_the_network_which_anyone_can_read_and_forge"


class Part(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the configuration."""


class Queues(Part, frozen=True):
    """How much may wait. Who wants to add more to a full queue waits until there is room."""

    out_messages: Messages = 1024
    """Own messages that not all receivers have acknowledged."""
    out_bytes: Bytes = 4 * 2**20
    in_messages: Messages = 4096
    """Messages delivered and not taken (with manual acks: not acknowledged) by the application."""
    in_bytes: Bytes = 64 * 2**20
    link_bytes: Bytes = 16 * 2**20
    """Bytes towards one peer over TCP that the kernel has not taken."""


class Security(Part, frozen=True):
    """One of the two; neither is plain text, for loopback only."""

    cluster_key: str | None = None
    """The file of the cluster key (`aforesaid keys cluster`)."""
    accept_cluster_keys: list[str] = []
    """Files of further keys that are accepted, while keys are replaced."""
    certificates: str | None = None
    """The directory with authority.pem and this node's certificate and key (`aforesaid keys node`)."""


class Config(Part, frozen=True):
    """What a node is told before it starts."""

    name: Process
    algorithm: str = "hybrid_multicast_in_order"
    transport: Literal["udp", "tcp"] = "udp"
    cluster: str = "aforesaid"
    """Nodes of other clusters are strangers."""
    listen: str = "127.0.0.1:0"
    advertise: str | None = None
    """Where others find this node, if not where it listens (prc_spray)."""
    peers: dict[Process, str] = field(default_factory=dict)
    """The other members of a fixed group, each with its address; port 0: it will be told (`introduce`)."""
    newcomer: bool = False
    """Whether this node is to be admitted to a group (`admit`): then `peers` are one member or some, from
    whom it learns of the others."""
    contact: str | list[str] | None = None
    """The address of a member to join through, or of several (prc_spray); without it this node founds a
    group, unless its directory remembers members of one."""
    outside_s: Seconds = 15.0
    """Who has lost its group and looks for it so long in vain founds it anew; who says something meanwhile
    waits for twice as long at most (prc_spray)."""
    directory: str | None = None
    """Where the node keeps its incarnation, its trace segments and its control socket."""
    durability: Literal["none", "batch", "always"] = "none"
    """Whether this node survives being killed: "batch" forces what it was told to the disk every few
    milliseconds, "always" at the end of every turn; nothing leaves before. Needs a directory."""
    snapshot_bytes: Bytes = 8 * 2**20
    """With so many bytes in its journal since the last one, a node that survives takes a snapshot of its
    state; a restart reads no more than that and the snapshot."""
    retention_bytes: Annotated[int, Meta(ge=0, le=2**44)] = 0
    """How much of what it delivered a member of a changing group keeps for those who come late, or come back;
    all members keep something, or none does. In a fixed group that survives: how much it says while a
    member is away."""
    retention_s: SecondsOrNever = 0.0
    """For how long, at most; 0: as long as there is room."""
    metrics: str | None = None
    """Where this node answers GET /metrics, in the clear: an address as `listen`; without it nowhere."""
    trace: bool = True
    """Whether events are written to trace segments; needs a directory."""
    receipts: bool = False
    """Whether the trace tells how messages came and what they waited for, and of links and suspicions."""
    trace_segment_bytes: Bytes = 64 * 2**20
    acks: Literal["automatic", "manual"] = "automatic"
    payload_bytes_max: PayloadBytes = 2**20
    datagram_bytes_max: Annotated[int, Meta(ge=512, le=65507)] | None = None
    """Of those that it sends. None: 1,400, and 8,192 to peers on the same machine."""
    heartbeat_s: Seconds = 1.0
    """An idle node says every so often that it is there; thrice as long in silence loses a connection."""
    evict_after_s: SecondsOrNever = 30.0
    """A peer of a fixed group that was silent for so long is evicted, by those who hear most of the group;
    0: only an operator evicts."""
    linger_s: SecondsOrNever = 5.0
    """How long a node that closes waits until others have what it said."""
    options: dict[str, Any] = field(default_factory=dict)
    """The algorithm's own settings; see `aforesaid algorithms NAME`."""
    queues: Queues = Queues()
    security: Security = Security()
    allow_plaintext_on_the_network_which_anyone_can_read_and_forge: bool = False

    def __post_init__(self) -> None:
        """By whatever way it was made: msgspec looks at values only where it converts them."""
        for name, kind in get_type_hints(Config, include_extras=True).items():
            try:
                msgspec.convert(msgspec.to_builtins(getattr(self, name)), kind)
            except msgspec.ValidationError as error:
                raise Misuse(f"{name}: {_first_lower(str(error))}") from error
        check_name(self.name)

    @staticmethod
    def from_file(path: str | Path) -> "Config":
        """Read a TOML file; relative paths in it are relative to it."""
        try:
            data = tomllib.loads(Path(path).read_text())
        except OSError as error:
            raise Misuse(f"cannot read {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Misuse(f"{path} is not TOML: {error}") from error
        if isinstance(data.get("algorithm"), str):
            data["algorithm"] = absolute(data["algorithm"], Path(path).parent)
        try:
            return Config.of(data)._at(Path(path).parent)
        except Misuse as error:
            raise Misuse(f"{path}: {error}") from error

    @staticmethod
    def of(data: dict[str, Any]) -> "Config":
        try:
            config = msgspec.convert(data, Config)
        except msgspec.ValidationError as error:
            raise Misuse(_worded(error, data)) from error
        config.validate()
        return config

    def validate(self) -> None:
        """What msgspec cannot see: whether the parts go together."""
        for name in (self.name, *self.peers):
            check_name(name)
        if self.name in self.peers:
            raise Misuse(f"peers: {self.name} is this node itself")
        entry = self._entry()
        self._membership(entry)
        self._durability(entry)
        self._retention(entry)
        self._receipts()
        if self.security.accept_cluster_keys and not self.security.cluster_key:
            raise Misuse("security.accept_cluster_keys: they go with the cluster_key that is used")
        if self.security.cluster_key and self.security.certificates:
            raise Misuse("security: either cluster_key or certificates, not both")
        if self.security.certificates and self.transport == "udp":
            raise Misuse(
                'security.certificates: they secure streams; say transport = "tcp", or use cluster_key'
            )
        if self.transport == "tcp" and self.queues.link_bytes <= self.payload_bytes_max:
            raise Misuse(
                f"queues.link_bytes: {self.queues.link_bytes} hold no message of payload_bytes_max "
                f"({self.payload_bytes_max}) bytes"
            )
        for key, address in self._addresses().items():
            if not self.secured and not address.loopback:
                raise Misuse(
                    f"{key}: {address} is no loopback address and nothing is secured: "
                    f"set security, or {FEARSOME} = true"
                )

        self._metrics()

    @property
    def secured(self) -> bool:
        security = self.security
        allowed = self.allow_plaintext_on_the_network_which_anyone_can_read_and_forge
        return bool(security.cluster_key or security.certificates or allowed)

    @property
    def group(self) -> tuple[Process, ...]:
        return tuple(sorted((self.name, *self.peers)))

    @property
    def contacts(self) -> list[str]:
        """Where to join a changing group."""
        return [self.contact] if isinstance(self.contact, str) else list(self.contact or ())

    @property
    def entry(self) -> Algorithm:
        return algorithm(self.algorithm)

    @property
    def survives(self) -> bool:
        """Whether this node comes back as itself after it was killed."""
        return self.durability != "none"

    @property
    def keeps(self) -> bool:
        """Whether this node keeps the history of a changing group."""
        return self.retention_bytes > 0 and self.entry.linked

    @property
    def frontier(self) -> bool:
        """Whether messages carry their causal frontier."""
        return bool(self.options.get("frontier"))

    def _entry(self) -> Algorithm:
        able = ", ".join(sorted(name for name, entry in CATALOG.items() if entry.deployable))
        try:
            entry = self.entry
        except Misuse as error:
            fault = f"{self.algorithm} is no algorithm" if self.algorithm.isidentifier() else str(error)
            raise Misuse(f"algorithm: {fault}; nodes run: {able}") from error
        if not entry.deployable:
            raise Misuse(f"algorithm: {entry.name} runs in the simulator only; nodes run: {able}")
        entry.validate(self.options)
        try:
            shapes_of(entry, self.group)
        except Misuse as error:
            raise Misuse(f"algorithm: {entry.name}: {error}") from error
        # Perfect links make a lossy transport reliable, but restore no order: that takes a stream.
        if entry.linked and self.transport != "tcp":
            raise Misuse(
                f'transport: {entry.name} needs {" and ".join(entry.needs)}, which take transport = "tcp"'
            )
        return entry

    def _membership(self, entry: Algorithm) -> None:
        if Need.FIXED_GROUP in entry.needs and self.contacts:
            raise Misuse(f"contact: {entry.name} has a fixed group; name its members in [peers]")
        if self.newcomer and (entry.tells is None or not self.peers):
            lacks = "has a fixed group" if self.peers else "is admitted by one of its peers: name one"
            raise Misuse(f"newcomer: {entry.name if self.peers else self.name} {lacks}")
        if Need.FIXED_GROUP not in entry.needs and self.peers:
            raise Misuse(f"peers: {entry.name} has a changing group; join it by a contact address")

    def _durability(self, entry: Algorithm) -> None:
        if not self.survives:
            return
        if self.directory is None:
            raise Misuse(f'durability: "{self.durability}" needs a directory, where the journal is kept')
        if entry.linked:
            raise Misuse(
                f"durability: {entry.name} cannot come back as it was, for its links break when it is "
                "killed, and what was on their way is lost; it rejoins as another incarnation"
            )
        if self.frontier:
            raise Misuse(
                "durability: what the application has taken would have to come back, too, for "
                "options.frontier; choose one of them"
            )

    def _retention(self, entry: Algorithm) -> None:
        if not self.retention_bytes:
            if self.retention_s:
                raise Misuse("retention_s: nothing is kept; set retention_bytes, too")
        elif self.retention_bytes < RETENTION_BYTES_MIN:
            raise Misuse(f"retention_bytes: at least {RETENTION_BYTES_MIN}, or 0 to keep nothing")
        elif not entry.linked and not self.survives:
            raise Misuse(
                'retention_bytes: a fixed group keeps nothing for who is away; set durability = "batch"'
            )
        elif entry.linked and self.frontier:
            raise Misuse("retention_bytes: the past has no frontier; choose it or options.frontier")

    def _receipts(self) -> None:
        if not self.receipts:
            return
        if self.directory is None or not self.trace:
            raise Misuse("receipts: they stand in the trace; set a directory, and trace = true")
        if self.survives:
            raise Misuse(
                "receipts: a node that survives is told again what it was told, and not when it came; choose "
                "them or durability"
            )

    def _metrics(self) -> None:
        """Keys and certificates do not secure it."""
        if self.metrics is None:
            return
        try:
            address = Address.parse(self.metrics)
        except Misuse as error:
            raise Misuse(f"metrics: {error}") from error
        if not address.loopback and not self.allow_plaintext_on_the_network_which_anyone_can_read_and_forge:
            raise Misuse(
                f"metrics: {address} is no loopback address, and metrics are told in the clear: have them "
                f"fetched on this machine, or set {FEARSOME} = true"
            )

    def _addresses(self) -> dict[str, Address]:
        """By the key that says them."""
        texts = {"listen": self.listen, "advertise": self.advertise}
        texts |= {"contact" if len(self.contacts) == 1 else f"contact {at}": at for at in self.contacts}
        texts |= {f"peers.{name}": text for name, text in self.peers.items()}
        found: dict[str, Address] = {}
        for key, text in texts.items():
            if text is not None:
                try:
                    found[key] = Address.parse(text)
                except Misuse as error:
                    raise Misuse(f"{key}: {error}") from error
        for key, address in found.items():
            if key.startswith("peers.") and address == found["listen"] and address.known:
                raise Misuse(f"{key}: {address} is where this node itself listens")
            versions = {address.version, found["listen"].version} - {None}
            if self.transport == "udp" and len(versions) > 1:
                raise Misuse(
                    f"{key}: {address} cannot be reached from {found['listen']}: one is IPv4, one IPv6"
                )
        return found

    def _at(self, root: Path) -> "Config":
        def at(path: str | None) -> str | None:
            return None if path is None else str(root / path)

        security = msgspec.structs.replace(
            self.security,
            cluster_key=at(self.security.cluster_key),
            accept_cluster_keys=[str(root / path) for path in self.security.accept_cluster_keys],
            certificates=at(self.security.certificates),
        )
        return msgspec.structs.replace(self, security=security, directory=at(self.directory))


def _worded(error: msgspec.ValidationError, data: dict[str, Any]) -> str:
    """msgspec's message in the file's words: the key first."""
    text, _, path = str(error).partition(" - at `$")
    keys = path.rstrip("`").lstrip(".")
    if keys.endswith("[...]"):
        keys = _culprit(keys.removesuffix("[...]"), data)
    where = f"{keys}: " if keys else ""
    if text.startswith("Object contains unknown field"):
        return where + _unknown_key(text.rsplit(" ", 1)[-1].strip("`"), keys)
    text = text.replace("Object missing required field", "missing key").replace("`object`", "a table")
    if text.startswith("Invalid enum value"):
        text += f"; there are: {', '.join(get_args(get_type_hints(Config)[keys]))}"
    return where + _first_lower(text)


def _first_lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _unknown_key(key: str, table: str) -> str:
    tables: dict[str, type[Part]] = {"": Config, "queues": Queues, "security": Security}
    known = tables[table].__struct_fields__
    return f"unknown key `{key}`{meant(key, known)} known keys: {', '.join(known)}"


def _culprit(table: str, data: dict[str, Any]) -> str:
    """The key in a table of texts whose value is none."""
    values = data.get(table, {})
    wrong = [key for key in values if not isinstance(values[key], str)] if isinstance(values, dict) else []
    return ".".join([table, *wrong[:1]])
