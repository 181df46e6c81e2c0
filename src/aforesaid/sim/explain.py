"""What files describe, and errors in the words of the file: which key, and what is allowed there."""

import re
from typing import Any, Self

import msgspec

from aforesaid.core import Misuse, meant
from aforesaid.sim.parts import Delay, Detector, Fault, Network, Workload


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run, entirely, as a file describes it and its trace keeps it."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Validate plain data; every error names the key and what is allowed there."""
        try:
            described = msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise Misuse(explain(error, data, cls)) from error
        described.validate()
        return described

    def to_json(self) -> str:
        """The whole of it, defaults included."""
        return msgspec.json.encode(self).decode()

    def validate(self) -> None:
        """Check what types cannot; nothing, unless it is said what."""


def explain(error: msgspec.ValidationError, data: Any, whole: type[msgspec.Struct]) -> str:
    """msgspec's message, with the key in TOML's words and the allowed values where a choice was wrong."""
    text, _, path = str(error).partition(" - at `$")
    keys = path.rstrip("`").lstrip(".")
    where = f"{keys}: " if keys else ""
    place = re.sub(r"\[\d+\]", "", keys)
    allowed = _CHOICES.get(place)
    if text.startswith("Object contains unknown field"):
        key, known = text.rsplit(" ", 1)[-1], _known_keys(place, _at(data, keys), whole)
        rest = f"{meant(key.strip('`'), known)} known keys: {', '.join(known)}" if known else ""
        return f"{where}unknown key {key}{rest}"
    text = text.replace("Object missing required field", "missing key")
    text = f"{text[0].lower()}{text[1:]}"
    wrong = text.split("'")[1] if text.count("'") == 2 else ""
    return f"{where}{text}{meant(wrong, allowed)} allowed: {', '.join(allowed)}" if allowed else where + text


def _tags(union: Any) -> list[str]:
    return [str(kind.__struct_config__.tag) for kind in union.__args__]


_CHOICES = {
    "network.delay.kind": _tags(Delay),
    "network.delay.spread.kind": ["constant", "uniform", "lognormal"],
    "workload.kind": _tags(Workload),
    "workload.arrivals": ["poisson", "periodic"],
    "fault.kind": _tags(Fault),
    "fault.frames": ["held", "lost"],
    "delay_ms": ["milliseconds from 1 to 30,000", "points [[minute, milliseconds], ...]"],
    "traced": ["a number of processes", "all"],
}


def _at(data: Any, keys: str) -> Any:
    """The part of the data that a path such as `workload[2].kind` leads to."""
    for name in re.findall(r"\w+", keys):
        data = data[int(name) if isinstance(data, list) else name]
    return data


def _known_keys(place: str, table: Any, whole: type[msgspec.Struct]) -> list[str]:
    """The keys known where an unknown one stood."""
    tables: dict[str, Any] = {"": whole, "network": Network, "detector": Detector}
    if place in tables:
        return list(tables[place].__struct_fields__)
    unions: dict[str, Any] = {"network.delay": Delay, "workload": Workload, "fault": Fault}
    for kind in unions[place].__args__ if place in unions else ():
        if kind.__struct_config__.tag == table.get("kind"):
            return ["kind", *kind.__struct_fields__]
    return []
