"""Some nodes in this process, on loopback, for trying things: `async with Cluster(3) as (alice, bob, carol)`.

Each finds a free port, and is told where the others are; a changing group is joined through the first. In a
notebook, where `await` stands alone: `cluster = await Cluster(3)`, and `await cluster.close()` in the end.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, overload

import msgspec

from aforesaid.core import Misuse, Process
from aforesaid.node.config import Config
from aforesaid.node.node import Node
from aforesaid.node.payloads import Codec, P
from aforesaid.protocols.catalog import algorithm

ANYWHERE = "127.0.0.1:0"
NODES_MAX = 64
"""In one process, which has one loop for all of them."""
OF_EACH = ("name", "listen", "peers", "contact", "metrics")
"""What is not the same for all."""


class Cluster(Sequence[Node[P]], Generic[P]):
    """A group of nodes, in the order of their names."""

    @overload
    def __init__(
        self,
        names: int | Iterable[Process],
        *,
        payload: type[P] | Codec[P] | None = None,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: "Cluster[Any]",
        names: int | Iterable[Process],
        *,
        payload: object,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None: ...
    def __init__(
        self,
        names: int | Iterable[Process],
        *,
        payload: Any = None,
        directory: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """`names`: or how many: p0, p1, ... `directory`: each node has one of its name in it, with its trace.
        `settings`: of all nodes alike, as in `Config`."""
        self._configs = _configs(_names(names), directory, settings)
        self._payload = payload
        self._nodes: dict[Process, Node[P]] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._nodes:
            raise Misuse("a Cluster is entered once; make another one")
        async with AsyncExitStack() as stack:
            for config in self._configs:
                if self._nodes and config.entry.linked:
                    first = next(iter(self._nodes.values()))
                    config = msgspec.structs.replace(config, contact=str(first.address))
                node = Node(config, payload=self._payload)
                self._nodes[config.name] = await stack.enter_async_context(node)
            self._introduce()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def close(self) -> None:
        """Close all nodes, in order."""
        await self._stack.aclose()

    def __getitem__(self, key: Any) -> Any:
        """By name, or by number."""
        self._check()
        if not isinstance(key, str):
            return list(self._nodes.values())[key]
        if key not in self._nodes:
            raise Misuse(f"no node {key}; there are: {', '.join(config.name for config in self._configs)}")
        return self._nodes[key]

    def __iter__(self) -> Iterator[Node[P]]:
        self._check()
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._configs)

    def __repr__(self) -> str:
        return f"<Cluster of {', '.join(config.name for config in self._configs)}>"

    def _check(self) -> None:
        if not self._nodes:
            raise Misuse(
                f"the Cluster has not been started: async with Cluster({len(self)}) as nodes, or await it"
            )

    def _introduce(self) -> None:
        at = {name: str(node.address) for name, node in self._nodes.items()}
        for node in self._nodes.values():
            if peers := {name: at[name] for name in node.config.peers}:
                node.introduce(peers)


def _names(given: Any) -> list[Process]:
    if isinstance(given, int) and not isinstance(given, bool):
        given = [f"p{number}" for number in range(given)]
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise Misuse(f"Cluster: {given!r} is neither how many nodes nor their names, as Cluster(3)")
    names = list(given)
    if not 1 <= len(names) <= NODES_MAX or len(set(names)) < len(names):
        raise Misuse(f"Cluster: 1 to {NODES_MAX} nodes, each with a name of its own, not {len(names)}")
    return names


def _configs(names: list[Process], directory: str | Path | None, settings: dict[str, Any]) -> list[Config]:
    if wrong := [key for key in OF_EACH if key in settings]:
        raise Misuse(f"Cluster: {wrong[0]} is another one for each node; it is found by itself")
    linked = algorithm(settings["algorithm"]).linked if "algorithm" in settings else False
    facts = {"transport": "tcp"} | settings if linked else settings
    return [
        Config.of(
            {
                **msgspec.to_builtins(facts),
                "name": name,
                "listen": ANYWHERE,
                "peers": {} if linked else {peer: ANYWHERE for peer in names if peer != name},
                "directory": None if directory is None else str(Path(directory) / name),
            }
        )
        for name in names
    ]
