"""The explorer page: a trace as one HTML file that shows what happened, why, and where it went wrong.

`columns` packs a run into 32-bit columns, `page` puts them and the scripts of `web/` into one file, `serving`
hands out the same page from a local port. The page computes order and logical time itself (web/order.js): a
past or a future is one number per process there, where a table of all of them would be messages squared.
"""

from aforesaid.viewer.columns import Packed, packed
from aforesaid.viewer.page import page, page_of_addresses

__all__ = ["Packed", "packed", "page", "page_of_addresses"]
