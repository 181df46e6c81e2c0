"""The settings of an algorithm: one Struct says their types, bounds, units, defaults and what they mean.

Scenario files, the command line, a node's configuration and the documentation all come from it. A duration is
in milliseconds and its name ends in `_ms`. What must hold between two settings is checked in `__post_init__`.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta as Meta

from aforesaid.core import MILLISECOND, Misuse, Nanoseconds

Milliseconds = Annotated[float, Meta(gt=0, le=1e12, extra={"words": "a time in milliseconds"})]
"""A duration."""

Positive = Annotated[int, Meta(ge=1)]
"""A number of something, at least one."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No settings, unless a subclass has some; a field's docstring is in its `Meta(description=...)`."""


AnyOptions = TypeVar("AnyOptions", bound=Options)


class Option(NamedTuple):
    """One setting, for people."""

    name: str
    kind: str
    default: Any
    help: str

    def __str__(self) -> str:
        default = "" if self.default is None else f"; default {_shown(self.default)}"
        return f"{self.help} ({self.kind}{default})"


def nanoseconds(milliseconds: float) -> Nanoseconds:
    """In the protocols' own unit."""
    return round(milliseconds * MILLISECOND)


def keywords(options: Options, **durations: str) -> dict[str, Any]:
    """The settings as a constructor takes them: these durations in nanoseconds, by the names given."""
    found = msgspec.structs.asdict(options)
    for option, name in durations.items():
        found[name] = nanoseconds(found.pop(option))
    return found


def settings(kind: type[AnyOptions], given: Mapping[str, Any], algorithm: str) -> AnyOptions:
    """The settings that were given, checked; every error is one line that names the option."""
    known = kind.__struct_fields__
    for name in given:
        if name not in known:
            has = ", ".join(known) or "none"
            raise Misuse(f"options.{name}: {algorithm} has no such option; it has: {has}")
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        name = str(error).partition(" - at `$.")[2].rstrip("`")
        must = {option.name: option.kind for option in options_of(kind)}.get(name, str(error))
        raise Misuse(f"options: {name} must be {must}, not {given.get(name)!r}") from error
    except Misuse as error:
        raise Misuse(f"options: {error}") from error


def options_of(kind: type[Options]) -> list[Option]:
    """All settings of an algorithm."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    return [Option(name, *_told(hints[name], defaults.get(name))) for name in kind.__struct_fields__]


def _told(hint: Any, default: Any) -> tuple[str, Any, str]:
    """What kind of value it takes, in words; its default; what it means."""
    kind, bounds, meaning, words = hint, list[str](), "", ""
    while get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        for meta in metas:
            meaning = meta.description or meaning
            words = (meta.extra or {}).get("words", words)
            bounds += [
                f" {side} {bound:g}"
                for side, bound in (("from", meta.ge), ("above", meta.gt), ("up to", meta.le))
                if bound is not None and bound < 1e12
            ]
    if get_origin(kind) in (Union, UnionType):
        return _told(get_args(kind)[0], default)[0], default, meaning
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind))), default, meaning
    words = words or _WORDS.get(kind, kind.__name__)
    return words + "".join(bounds) + (" on" if bounds[-1:] and "from" in bounds[-1] else ""), default, meaning


_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}


def _shown(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
