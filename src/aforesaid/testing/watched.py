"""Between a host and a protocol: whoever stands there sees every call and every effect, and may change them.

The kit runs the same scenario with and without such a watcher. A protocol that keeps the contract of its port
does the same in both: its copy goes on as it would have, and what it makes of a message does not depend on
what the message says, nor on whether a frame is the one sent or what came of its bytes.
"""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from aforesaid.core import AforesaidError, MessageId, declaration_of, freeze
from aforesaid.core.frames import UNDECLARED
from aforesaid.wire import Codec


class Broken(AforesaidError):
    """The contract of the port is broken; the text says how."""


class Watched:
    """Stands for a protocol object, whatever it can do; hands every call on."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.machine, name)
        return partial(self._call, name) if callable(found) else found

    def _call(self, name: str, *arguments: Any) -> Any:
        if arguments and hasattr(arguments[-1], "deliver"):
            *given, out = arguments
            if name in ("broadcast", "send"):
                given[-2] = self.said(given[-2])
            arguments = (*given, Sink(self, out))
        result = getattr(self.machine, name)(*arguments)
        self.called()
        return result

    def said(self, payload: Any) -> Any:
        """What the protocol gets for a payload."""
        return payload

    def heard(self, payload: Any) -> Any:
        """What the host gets for what the protocol delivers."""
        return payload

    def sent(self, message: Any) -> Any:
        """What goes to the network for a frame."""
        return message

    def called(self) -> None:
        """A call has ended."""


class Sink:
    """The host's own sink, with a watcher before it."""

    def __init__(self, watcher: Watched, out: Any) -> None:
        self._watcher, self._out = watcher, out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self._out.deliver(message_id, self._watcher.heard(payload))

    def send(self, targets: Any, message: Any) -> None:
        self._out.send(targets, self._watcher.sent(message))


class Copied(Watched):
    """After every call a pickled copy goes on in the protocol's place."""

    def called(self) -> None:
        copy = pickle.loads(pickle.dumps(self.machine))
        if freeze(copy) != freeze(self.machine):
            raise Broken("a pickled copy of its state is not equal to it")
        self.machine = copy


class Opaque:
    """A payload that can be handed on and nothing else."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    def __bool__(self) -> bool:
        raise Broken("it asks whether a payload is true: payloads are the application's, empty ones too")


class Blindfolded(Watched):
    """The protocol cannot see what is said."""

    def said(self, payload: Any) -> Any:
        return Opaque(payload)

    def heard(self, payload: Any) -> Any:
        if not isinstance(payload, Opaque):
            raise Broken(f"it delivers {payload!r:.80}, which nobody said: payloads are the application's")
        return payload.inside


class Wired(Watched):
    """Every frame is what came of its bytes."""

    def __init__(self, machine: Any, codec: Codec | None) -> None:
        super().__init__(machine)
        self._codec = codec

    def said(self, payload: Any) -> bytes:
        return pickle.dumps(payload)

    def heard(self, payload: Any) -> Any:
        return pickle.loads(payload)

    def sent(self, message: Any) -> Any:
        kind = type(message).__name__
        if declaration_of(type(message)) is UNDECLARED:
            raise Broken(f"it sends {kind}, which is not declared: write @frame() above the named tuple")
        try:
            hash(message)
        except TypeError as error:
            raise Broken(f"it sends a {kind} that is not hashable: {error}") from error
        if self._codec is None:
            return message
        came = self._codec.decode(self._codec.encode(message))
        if came != message:
            raise Broken(f"{message!r:.200} comes off the wire as {came!r:.200}")
        return came


Watch = Callable[[Any], Watched]
