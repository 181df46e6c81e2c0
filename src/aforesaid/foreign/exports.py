"""Exports of tracing systems: OTLP as JSON lines, and Jaeger's JSON.

A span that is not what it should be is refused by itself; the others of its export are read.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from aforesaid.core import WrongValue
from aforesaid.foreign.events import Count, Line, lines, time_within
from aforesaid.foreign.mapping import Mapping
from aforesaid.foreign.spans import Span
from aforesaid.storage import Place

KINDS = ("internal", "internal", "server", "client", "producer", "consumer")
"""By OTLP's number; 0 is unspecified."""
IDENTITY = ("service.name", "service.instance.id")
"""The attributes that tell one process from another, unless a mapping names another one."""

_Export = TypeVar("_Export", bound=Struct)


class _Attribute(Struct):
    key: str
    value: dict[str, Any] | None = None


class _Resource(Struct):
    attributes: list[_Attribute] | None = None


class _Scope(Struct):
    spans: list[Raw] | None = None


class _ResourceSpans(Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope] | None = None


class _Otlp(Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None
    resource_logs: Any = None
    resource_metrics: Any = None


class _OtlpLink(Struct, rename="camel"):
    trace_id: str
    span_id: str


class _OtlpSpan(Struct, rename="camel"):
    trace_id: str
    span_id: str
    start_time_unix_nano: int | str
    parent_span_id: str | None = None
    kind: int | str = 0
    name: str = ""
    links: list[_OtlpLink] | None = None


def otlp(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Span]:
    """Spans of OTLP JSON, an export in a line as the collector's file exporter writes it."""
    for place, export in _documents(paths, _Otlp, count):
        if export.resource_spans is None:
            if export.resource_logs is None and export.resource_metrics is None:
                count.refuse(place, "it has no resourceSpans")
            else:
                count.other += 1
            continue
        count.records -= 1
        for resource in export.resource_spans:
            told = (resource.resource and resource.resource.attributes) or ()
            about = {each.key: _value(each) for each in told}
            for raw in (raw for scope in resource.scope_spans or () for raw in scope.spans or ()):
                count.records += 1
                try:
                    yield _otlp_span(
                        msgspec.json.decode(raw, type=_OtlpSpan), _process(about, mapping), place
                    )
                except (msgspec.DecodeError, WrongValue) as error:
                    count.refuse(place, f"a span of it: {error}")


def _otlp_span(span: _OtlpSpan, process: str, place: str) -> Span:
    return Span(
        process,
        _name(span.trace_id, span.span_id),
        _kind(span.kind),
        time_within(span.start_time_unix_nano),
        _name(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
        tuple(_name(link.trace_id, link.span_id) for link in span.links or ()),
        f"{place}, {span.name}",
    )


def _kind(told: int | str) -> str:
    """As number, or as the name that protobuf gives it."""
    if isinstance(told, str):
        told = told.removeprefix("SPAN_KIND_").lower()
        if told in KINDS:
            return told
    try:
        return KINDS[max(0, int(told))]
    except (ValueError, IndexError):
        return "internal"


def _value(attribute: _Attribute) -> str:
    return str(next(iter((attribute.value or {}).values()), ""))


class _Tag(Struct):
    key: str
    value: Any = ""


class _JaegerProcess(Struct, rename={"service_name": "serviceName"}):
    service_name: str
    tags: list[_Tag] | None = None


class _Trace(Struct):
    spans: list[Raw] | None = None
    processes: dict[str, _JaegerProcess] | None = None


class _Jaeger(_Trace):
    data: list[_Trace] | None = None


_CAPITALS = {
    "trace_id": "traceID",
    "span_id": "spanID",
    "parent_span_id": "parentSpanID",
    "ref_type": "refType",
}


class _Reference(Struct, rename=_CAPITALS):
    span_id: str
    trace_id: str = ""
    ref_type: str = "CHILD_OF"


class _JaegerSpan(
    Struct,
    rename={
        **_CAPITALS,
        "start_time": "startTime",
        "operation_name": "operationName",
        "process_id": "processID",
    },
):
    trace_id: str
    span_id: str
    start_time: int
    operation_name: str = ""
    references: list[_Reference] | None = None
    tags: list[_Tag] | None = None
    process_id: str = ""
    process: _JaegerProcess | None = None
    parent_span_id: str = ""


def jaeger(paths: Sequence[Place], mapping: Mapping, count: Count) -> Iterator[Span]:
    """Spans of Jaeger's JSON, as its page and API give it: `{"data": [{"spans": ..., "processes": ...}]}`.

    The first CHILD_OF is the parent, every other reference a link.
    """
    for place, export in _documents(paths, _Jaeger, count):
        traces: Sequence[_Trace] = export.data or ([] if export.spans is None else [export])
        if not traces:
            count.refuse(place, "it has neither data nor spans")
            continue
        count.records -= 1
        for trace in traces:
            for raw in trace.spans or ():
                count.records += 1
                try:
                    span = msgspec.json.decode(raw, type=_JaegerSpan)
                    yield _jaeger_span(span, trace.processes or {}, mapping, place)
                except (msgspec.DecodeError, WrongValue) as error:
                    count.refuse(place, f"a span of it: {error}")


def _jaeger_span(
    span: _JaegerSpan, processes: dict[str, _JaegerProcess], mapping: Mapping, place: str
) -> Span:
    process = span.process or processes.get(span.process_id)
    if process is None:
        raise WrongValue(f"its process {span.process_id!r} is not among the trace's")
    about = _tags(process.tags) | {"service.name": process.service_name}
    references = [
        (each.ref_type, _name(each.trace_id or span.trace_id, each.span_id)) for each in span.references or ()
    ]
    parent = next((name for kind, name in references if kind == "CHILD_OF"), None)
    if span.parent_span_id:
        parent = _name(span.trace_id, span.parent_span_id)
    return Span(
        _process(about, mapping),
        _name(span.trace_id, span.span_id),
        _kind(_tags(span.tags).get("span.kind", "internal")),
        time_within(span.start_time, 1_000),
        parent,
        tuple(name for _, name in references if name != parent),
        f"{place}, {span.operation_name}",
    )


def _tags(told: Sequence[_Tag] | None) -> dict[str, str]:
    return {each.key: str(each.value) for each in told or ()}


def _documents(paths: Sequence[Place], kind: type[_Export], count: Count) -> Iterator[tuple[str, _Export]]:
    """JSON objects: one in each line, or one that fills a file."""
    decode = msgspec.json.Decoder(kind).decode
    for path in paths:
        found: list[Line] = list(lines([path], count))
        if found and not _is_json(found[0][1]):
            # It does not end with its first line: it is one object, or none.
            count.records -= len(found) - 1
            found = [(str(path), "\n".join(line for _, line in found))]
        for place, line in found:
            try:
                document = decode(line)
            except msgspec.DecodeError as error:
                count.refuse(place, f"it is no such export: {error}")
            else:
                yield place, document


def _is_json(line: str) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _name(trace: str, span: str) -> str:
    return f"{trace}/{span}".lower()


def _process(about: dict[str, str], mapping: Mapping) -> str:
    """Who a resource is. A service that runs several times is several processes, if it says so."""
    attributes = IDENTITY if mapping.process == Mapping().process else (mapping.process,)
    told = [about[name] for name in attributes if name in about]
    if not told:
        raise WrongValue(f"its resource has no {attributes[0]}")
    return "/".join(told)
