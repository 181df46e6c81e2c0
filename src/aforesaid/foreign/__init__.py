"""Other people's logs as traces: logs of ShiViz and Maelstrom, exports of OTLP and Jaeger, JSON, CSV, text.

Readers make events of records (`lines`, `shiviz`, `exports` and `spans`), `collect` makes a trace of events.
"""

from aforesaid.foreign.collect import Collected, Collection, Options
from aforesaid.foreign.formats import FORMATS, read
from aforesaid.foreign.mapping import Mapping, read_mapping

__all__ = ["FORMATS", "Collected", "Collection", "Mapping", "Options", "read", "read_mapping"]
