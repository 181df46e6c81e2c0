"""Three services with OpenTelemetry: an order goes to the stock and to the post, a parcel from stock to post.

The spans are made by OpenTelemetry's own library, and written as OTLP JSON lines by its own exporter; with
`--jaeger` they are written as Jaeger's page exports them. With `late` the post hears of a parcel before it
has heard of its order: each service did nothing wrong, and yet the order of things is broken.

    python examples/traced_shop.py spans.jsonl [late] [--jaeger]
"""

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind

Headers = dict[str, str]
"""What travels with a message: the context of the span that sent it."""


class Service:
    """A service with a tracer of its own, as if it ran alone."""

    def __init__(self, name: str, exporter: SpanExporter) -> None:
        provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        self.tracer = provider.get_tracer(name)

    def send(self, what: str) -> Headers:
        headers: Headers = {}
        with self.tracer.start_as_current_span(f"send {what}", kind=SpanKind.PRODUCER):
            inject(headers)
        return headers

    def handle(self, what: str, headers: Headers) -> AbstractContextManager[Any]:
        context = extract(headers)
        return self.tracer.start_as_current_span(f"handle {what}", context, kind=SpanKind.CONSUMER)


def trade(exporter: SpanExporter, orders: int, late: bool) -> None:
    shop, stock, post = (Service(name, exporter) for name in ("shop", "stock", "post"))
    for number in range(orders):
        order = shop.send(f"order {number}")
        with stock.handle("order", order):
            parcel = stock.send(f"parcel {number}")
        arrivals = [("order", order), ("parcel", parcel)]
        if late and number == orders - 1:
            arrivals.reverse()
        for what, headers in arrivals:
            with post.handle(what, headers):
                pass
    exporter.shutdown()


class JaegerFile(SpanExporter):
    """Writes spans as Jaeger's page and its API give them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.traces: dict[str, dict[str, Any]] = {}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            context, parent = span.context, span.parent
            assert context is not None
            assert span.start_time is not None
            assert span.end_time is not None
            trace_id, service = f"{context.trace_id:032x}", str(span.resource.attributes["service.name"])
            trace = self.traces.setdefault(trace_id, {"traceID": trace_id, "spans": [], "processes": {}})
            trace["processes"][service] = {"serviceName": service, "tags": []}
            reference = {"refType": "CHILD_OF", "traceID": trace_id}
            trace["spans"].append(
                {
                    "traceID": trace_id,
                    "spanID": f"{context.span_id:016x}",
                    "operationName": span.name,
                    "references": []
                    if parent is None
                    else [reference | {"spanID": f"{parent.span_id:016x}"}],
                    "startTime": span.start_time // 1_000,
                    "duration": (span.end_time - span.start_time) // 1_000,
                    "tags": [{"key": "span.kind", "type": "string", "value": span.kind.name.lower()}],
                    "processID": service,
                }
            )
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.path.write_text(json.dumps({"data": list(self.traces.values())}, indent=1))


def main(path: Path, *options: str) -> None:
    exporter = JaegerFile(path) if "--jaeger" in options else FileSpanExporter(str(path))
    trade(exporter, orders=20, late="late" in options)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
