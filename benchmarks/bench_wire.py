"""What it costs to make bytes of messages and messages of bytes, and to seal and open them.

    python benchmarks/bench_wire.py

Microseconds per message of 100 bytes, the best of many short rounds, beside what the same run measures for
the bare tools: msgspec on an array-like Struct of the same fields, AES-256-GCM on the same bytes. Last comes
the whole way of a message, as a ratio to the bare tools put together: what everything else costs.
"""

import gc
import os
from collections.abc import Callable
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast.waiting import Stamped
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.layers.layered import Relay
from aforesaid.protocols.links.perfect import Data
from aforesaid.protocols.overlay.frames import Copy, Lid
from aforesaid.security.datagrams import KeyRing, Opener, Sealer
from aforesaid.security.keys import ClusterKey
from aforesaid.security.windows import Window
from aforesaid.wire import Codec, Header, Inlet, Reassembly, cluster_id, pack, shapes_of, unpack

PAYLOAD = bytes(100)
GROUP = ("alice", "bob", "carol", "dave", "erin")
BATCHES = (1, 8)
CALLS = 500
ROUNDS = 100

MESSAGES: dict[str, Any] = {
    "hybrid_multicast": Msg(3, 1000, 999, True, PAYLOAD),
    "waiting": Data(1000, Relay(MessageId("alice", 0, 1000), Stamped((1, 2, 3, 4, 5), PAYLOAD))),
    "prc_spray": Copy(Lid("alice", "bob", 0, 4), MessageId("carol", 0, 1000), PAYLOAD),
}


class Bare(msgspec.Struct, array_like=True):
    """The fields of hybrid buffering's message."""

    incarnation: int
    number: int
    previous: int
    flagged: bool
    payload: bytes


class Pair:
    """A sender and a receiver of hybrid buffering's messages, over sealed datagrams."""

    def __init__(self) -> None:
        cluster = cluster_id("bench", "hybrid_multicast")
        ring = KeyRing(ClusterKey(os.urandom(32)))
        alice, bob = Header(cluster, "alice", 1), Header(cluster, "bob", 1)
        self.codec = Codec(shapes_of("hybrid_multicast", GROUP))
        self.sealer = Sealer(ring, alice)
        self.session = Sealer(ring, bob).session
        self.opener = Opener(ring, bob, self.session)
        self.inlet = Inlet(self.codec, Reassembly())
        self.size_max = 1400 - self.sealer.overhead

    def send(self, messages: list[Any]) -> list[bytes]:
        bodies = pack([self.codec.encode(message) for message in messages], self.size_max)
        return [self.sealer.seal(body, self.session) for body in bodies]

    def receive(self, data: bytes) -> Any:
        (_, source, _, _), _, body, _ = self.opener.open(data)
        return self.inlet.body(source, body, 0)


class Case(NamedTuple):
    """A call to be timed, and how its argument is made beforehand."""

    call: Callable[[Any], object]
    make: Callable[[], Any]


def main() -> None:
    times = measured({**bare_cases(), **codec_cases(), **packet_cases()})
    print("The bare tools, microseconds")
    print(f"  msgspec, an array-like Struct: encode {times['encode']:.2f}, decode {times['decode']:.2f}")
    for batch in BATCHES:
        seal, opening = times[f"bare seal {batch}"], times[f"bare open {batch}"]
        print(f"  AES-256-GCM of {batch} encoded messages: seal {seal:.2f}, open {opening:.2f}")
    print(f"  (a replay window of 1,024: {times['window']:.2f})")
    print("One frame with a payload of 100 bytes, microseconds (ratio to the bare Struct)")
    for algorithm in MESSAGES:
        encode, decode = times[f"encode {algorithm}"], times[f"decode {algorithm}"]
        print(
            f"  {algorithm:18} encode {encode:.2f} ({encode / times['encode']:.1f})"
            f"   decode {decode:.2f} ({decode / times['decode']:.1f})"
        )
    print("Microseconds per message (ratio of seal and open to the bare cipher, of all to all bare tools)")
    for batch in BATCHES:
        print_batch(batch, times)
    print(f"A sealed datagram is {Pair().sealer.overhead} bytes longer than its body.")


def print_batch(batch: int, times: dict[str, float]) -> None:
    def ratio(name: str, bare: float) -> str:
        return f"{times[f'{name} {batch}'] / batch:.2f} ({times[f'{name} {batch}'] / bare:.1f})"

    seal, opening = times[f"bare seal {batch}"], times[f"bare open {batch}"]
    print(
        f"  {batch} in a packet: pack {times[f'pack {batch}'] / batch:.2f}, seal {ratio('seal', seal)},"
        f" open {ratio('open', opening)}, unpack {times[f'unpack {batch}'] / batch:.2f}"
    )
    print(f"     encode, pack, seal: {ratio('send', batch * times['encode'] + seal)}")
    print(f"     open, unpack, decode: {ratio('receive', batch * times['decode'] + opening)}")


def measured(cases: dict[str, Case]) -> dict[str, float]:
    """Microseconds of one call of each case: the best of many short rounds, all cases in turn in each."""
    best = dict.fromkeys(cases, float("inf"))
    gc.disable()
    for _ in range(ROUNDS):
        for name, (call, make) in cases.items():
            arguments = [make() for _ in range(CALLS)]
            start = perf_counter()
            for argument in arguments:
                call(argument)
            best[name] = min(best[name], (perf_counter() - start) / CALLS * 1e6)
    gc.enable()
    return best


def given(argument: Any) -> Callable[[], Any]:
    """Makes nothing: the same argument each time."""
    return lambda: argument


def first_sent(pair: Pair, messages: list[Any]) -> bytes:
    return pair.send(messages)[0]


def bare_cases() -> dict[str, Case]:
    message = Bare(*MESSAGES["hybrid_multicast"])
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Bare).decode
    cipher, nonce, header = AESGCM(bytes(32)), bytes(12), bytes(53)
    window, counters = Window(), count(1)
    cases = {
        "encode": Case(encode, lambda: message),
        "decode": Case(decode, lambda: encode(message)),
        "window": Case(window.admit, lambda: next(counters)),
    }
    for batch in BATCHES:
        body = encode(message) * batch
        cases[f"bare seal {batch}"] = Case(lambda body: cipher.encrypt(nonce, body, header), given(body))
        cases[f"bare open {batch}"] = Case(
            lambda sealed: cipher.decrypt(nonce, sealed, header),
            partial(cipher.encrypt, nonce, body, header),
        )
    return cases


def codec_cases() -> dict[str, Case]:
    cases = {}
    for algorithm, message in MESSAGES.items():
        codec = Codec(shapes_of(algorithm, GROUP))
        cases[f"encode {algorithm}"] = Case(codec.encode, given(message))
        cases[f"decode {algorithm}"] = Case(codec.decode, partial(codec.encode, message))
    return cases


def packet_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    message = MESSAGES["hybrid_multicast"]
    for batch in BATCHES:
        pair, messages = Pair(), [message] * batch
        frames = [pair.codec.encode(message)] * batch
        (body,) = pack(frames, pair.size_max)
        seal = partial(pair.sealer.seal, body, pair.session)
        cases |= {
            f"pack {batch}": Case(partial(pack, size_max=pair.size_max), given(frames)),
            f"seal {batch}": Case(partial(pair.sealer.seal, receiver=pair.session), given(body)),
            f"open {batch}": Case(pair.opener.open, seal),
            f"unpack {batch}": Case(unpack, given(body)),
            f"send {batch}": Case(pair.send, given(messages)),
            f"receive {batch}": Case(pair.receive, partial(first_sent, pair, messages)),
        }
    return cases


if __name__ == "__main__":
    main()
