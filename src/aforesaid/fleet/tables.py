"""The tables of a fleet, found through one record.

Kernels call each other millions of times a second; a dozen arrays as arguments would cost more than the work,
in run time and in compile time. So a kernel gets one pointer, to the `State`, whose first fields say where
each table is, and how wide.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from aforesaid.fleet import layout
from aforesaid.fleet.compiled import JIT_DISABLED
from aforesaid.fleet.layout import State
from aforesaid.fleet.records import Int32s, Int64s, Record, Rows, UInt32s

arrays: Any = arrayobj
llvm: Any = cgutils

LINE, WORDS_OF_LINE = 64, 8
"""Bytes and words of a cache line."""


def _table(name: str, of: Any, dimensions: int = 1) -> Callable[[State], Any]:
    """A function from the state to the table of that name; `of` is a record or a type of numbers."""
    dtype = of.dtype if issubclass(of, Record) else np.dtype(of)
    at, array_of = _place(State, "tables") + _place(layout.Tables, name), arrays.make_array

    def table(typing: Any, w: Any) -> Any:
        result = types.Array(numba.from_dtype(dtype), dimensions, "C")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, rows, columns = (
                _constant(context, builder, args[0], at + _place(layout.Table, word))
                for word in ("address", "rows", "columns")
            )
            array = array_of(result)(context, builder)
            itemsize = context.get_constant(types.intp, dtype.itemsize)
            arrays.populate_array(
                array,
                data=builder.inttoptr(address, array.data.type),
                shape=[rows, columns][:dimensions],
                strides=[builder.mul(columns, itemsize), itemsize][-dimensions:],
                itemsize=itemsize,
                meminfo=None,
            )
            return array._getvalue()

        return result(w), codegen

    def uncompiled(w: State) -> Any:
        table: layout.Table = getattr(w.tables, name)
        rows, columns = int(table.rows), int(table.columns)
        buffer = (ctypes.c_char * (rows * columns * dtype.itemsize)).from_address(int(table.address))
        return np.frombuffer(buffer, dtype).reshape((rows, columns)[:dimensions])

    compiled: Any = intrinsic(table)
    return uncompiled if JIT_DISABLED else compiled


def _place(of: type[Record], field: str) -> int:
    """Where in a record a field begins."""
    fields: Any = of.dtype.fields
    return int(fields[field][1])


def _constant(context: Any, builder: Any, record: Any, place: int) -> Any:
    """A word that no kernel changes: the compiler need not load it again after every store."""
    word = builder.gep(builder.bitcast(record, llvm.voidptr_t), [context.get_constant(types.intp, place)])
    value = builder.load(builder.bitcast(word, llvm.intp_t.as_pointer()))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _prefetch(typing: Any, table: Any, item: Any, line: Any) -> Any:
    """Fetch a line of an item of a table, counted over its rows, into the cache: it will be needed soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = arrays.make_array(signature.args[0])(context, builder, args[0]).data
        begin = builder.bitcast(builder.gep(data, [args[1]]), llvm.voidptr_t)
        place = builder.gep(begin, [builder.mul(args[2], context.get_constant(types.intp, LINE))])
        signature = llvm.ir.FunctionType(llvm.ir.VoidType(), [llvm.voidptr_t] + 3 * [llvm.int32_t])
        fetch = llvm.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
        read, soon, is_data = (context.get_constant(types.int32, number) for number in (0, 3, 1))
        builder.call(fetch, [place, read, soon, is_data])
        return context.get_dummy_value()

    return types.none(table, types.intp, types.intp), codegen


def _fetched_anyway(table: Any, item: int, line: int) -> None:
    """Uncompiled."""


_compiled_prefetch: Any = intrinsic(_prefetch)
prefetch: Callable[[Any, int, int], None] = _fetched_anyway if JIT_DISABLED else _compiled_prefetch

hot: Callable[[State], Rows[layout.Hot]] = _table("hot", layout.Hot)
masks: Callable[[State], Int64s] = _table("masks", np.int64, 2)
columns: Callable[[State], Rows[layout.Column]] = _table("columns", layout.Column)
opens: Callable[[State], Int64s] = _table("opens", np.int64)
wires: Callable[[State], UInt32s] = _table("wires", np.uint32, 2)
wired: Callable[[State], Int32s] = _table("wired", np.int32, 2)
logs: Callable[[State], Int32s] = _table("logs", np.int32, 2)
processes: Callable[[State], Rows[layout.Process]] = _table("processes", layout.Process)
rows: Callable[[State], Rows[layout.Row]] = _table("rows", layout.Row)
links: Callable[[State], Rows[layout.Link]] = _table("links", layout.Link)
fifo: Callable[[State], Int64s] = _table("fifo", np.int64, 2)
heap: Callable[[State], Rows[layout.Timer]] = _table("heap", layout.Timer)
lanes: Callable[[State], Rows[layout.Timer]] = _table("lanes", layout.Timer)
slots: Callable[[State], Rows[layout.Slot]] = _table("slots", layout.Slot)
marks: Callable[[State], Int32s] = _table("marks", np.int32)
series: Callable[[State], Rows[layout.Bucket]] = _table("series", layout.Bucket)
events: Callable[[State], Rows[layout.Event]] = _table("events", layout.Event)
schedule: Callable[[State], Rows[layout.Step]] = _table("schedule", layout.Step)
delays: Callable[[State], Rows[layout.Delay]] = _table("delays", layout.Delay)
runs: Callable[[State], Any] = _table("runs", layout.Run, 2)
