"""The tables of a fleet, found through one array.

Kernels call each other millions of times a second; a dozen arrays as arguments would cost more than the work,
in run time and in compile time. So a kernel gets the array of scalars `w` alone, whose first rows say where
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

from aforesaid.fleet.compiled import JIT_DISABLED
from aforesaid.fleet.layout import Int32s, Int64s, Tables

arrays: Any = arrayobj
llvm: Any = cgutils

W = Int64s
"""The scalars, after the addresses of the tables (`layout.Tables`)."""


def _table(place: int, dtype: Any) -> Callable[[W], Any]:
    """A function from `w` to a table, whose address, rows and columns are at that place."""
    at, array_of = 3 * place, arrays.make_array

    def table(typing: Any, w: Any) -> Any:
        result = types.Array(numba.from_dtype(np.dtype(dtype)), 2, "C")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            header = array_of(signature.args[0])(context, builder, args[0])
            address, rows, columns = (
                _constant(builder, header.data, context.get_constant(types.intp, at + word))
                for word in range(3)
            )
            array = array_of(result)(context, builder)
            itemsize = context.get_constant(types.intp, np.dtype(dtype).itemsize)
            arrays.populate_array(
                array,
                data=builder.inttoptr(address, array.data.type),
                shape=[rows, columns],
                strides=[builder.mul(columns, itemsize), itemsize],
                itemsize=itemsize,
                meminfo=None,
            )
            return array._getvalue()

        return result(w), codegen

    def uncompiled(w: W) -> Any:
        address, rows, columns = (int(number) for number in w[at : at + 3])
        buffer = (ctypes.c_char * (rows * columns * np.dtype(dtype).itemsize)).from_address(address)
        return np.frombuffer(buffer, dtype).reshape(rows, columns)

    compiled: Any = intrinsic(table)
    return uncompiled if JIT_DISABLED else compiled


def _constant(builder: Any, data: Any, place: Any) -> Any:
    """A word that no kernel changes: the compiler need not load it again after every store."""
    value = builder.load(builder.gep(data, [place]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _prefetch(typing: Any, table: Any, item: Any) -> Any:
    """Fetch an item of a table, counted over its rows, into the cache: it will be needed soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = arrays.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), llvm.voidptr_t)
        signature = llvm.ir.FunctionType(llvm.ir.VoidType(), [llvm.voidptr_t] + 3 * [llvm.int32_t])
        fetch = llvm.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
        read, soon, is_data = (context.get_constant(types.int32, number) for number in (0, 3, 1))
        builder.call(fetch, [place, read, soon, is_data])
        return context.get_dummy_value()

    return types.none(table, item), codegen


def _fetched_anyway(table: Any, item: int) -> None:
    """Uncompiled."""


_compiled_prefetch: Any = intrinsic(_prefetch)
prefetch: Callable[[Any, int], None] = _fetched_anyway if JIT_DISABLED else _compiled_prefetch

hot: Callable[[W], Int64s] = _table(Tables.hot, np.int64)
masks: Callable[[W], Int64s] = _table(Tables.masks, np.int64)
wires: Callable[[W], Int32s] = _table(Tables.wires, np.int32)
processes: Callable[[W], Int64s] = _table(Tables.processes, np.int64)
links: Callable[[W], Int64s] = _table(Tables.links, np.int64)
fifo: Callable[[W], Int64s] = _table(Tables.fifo, np.int64)
heap: Callable[[W], Int64s] = _table(Tables.heap, np.int64)
slots: Callable[[W], Int64s] = _table(Tables.slots, np.int64)
series: Callable[[W], Int64s] = _table(Tables.series, np.int64)
events: Callable[[W], Int64s] = _table(Tables.events, np.int64)
schedule: Callable[[W], Int64s] = _table(Tables.schedule, np.int64)
delays: Callable[[W], Int64s] = _table(Tables.delays, np.int64)
lanes: Callable[[W], Int64s] = _table(Tables.lanes, np.int64)
runs: Callable[[W], Int64s] = _table(Tables.runs, np.int64)
