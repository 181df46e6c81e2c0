"""Whatever a tracer records comes out of Parquet as it comes out of memory, whatever the bounds."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.trace_scripts import assert_same, in_memory, stored

BOUNDS = st.sampled_from([1, 2, 3, 10, 100, 10_000])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 200), memory_rows_max=BOUNDS, row_group_rows=BOUNDS)
def test_round_trip(seed: int, steps: int, memory_rows_max: int, row_group_rows: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        trace = stored(
            Path(root), seed, steps, memory_rows_max=memory_rows_max, row_group_rows=row_group_rows
        )
        assert_same(in_memory(seed, steps), trace)
