"""Records: a class declares the fields, NumPy lays them out, numba reads them by name.

A field is a word of 64 bits (`int`), half of one (`Short`), a record, or so many of a kind:
`Annotated[Int64s, 2]`, `Annotated[Rows[Arc], 120]`. `Rows` is also what a table of records is to a kernel.
"""

from typing import Annotated, Any, ClassVar, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]
Short = Annotated[int, np.int32]
"""A number that fits into half a word; to a kernel that computes with it, a word like any other."""
SHORT_MAX = (1 << 31) - 1
Tiny = Annotated[int, np.int8]
"""The same for a state, a flag or a count of tries, up to 127."""
Records = npt.NDArray[np.void]
"""A table as Python sees it: `table["field"]` is a column."""


class Record:
    """Its annotations are its fields, in their order."""

    dtype: ClassVar[np.dtype[np.void]]

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls, include_extras=True)
        fields = [(name, *_field(hint)) for name, hint in hints.items() if name != "dtype"]
        cls.dtype = np.dtype((np.record, np.dtype(fields, align=True)))


def _field(hint: Any) -> tuple[Any, ...]:
    """What a field is made of, and how many of it."""
    if hint is int:
        return (np.int64,)
    if isinstance(hint, type) and issubclass(hint, Record):
        return (hint.dtype,)
    kind, many = hint.__origin__, hint.__metadata__
    if kind is int:
        return tuple(many)
    return (get_args(kind)[0].dtype if get_origin(kind) is Rows else np.int64, many)


Row = TypeVar("Row")


class Rows(Protocol[Row]):
    """Records, one after the other."""

    shape: tuple[int]

    def __getitem__(self, place: int) -> Row: ...

    def __setitem__(self, place: int, row: Row) -> None: ...
