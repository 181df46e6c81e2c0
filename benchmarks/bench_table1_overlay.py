"""Table 1 of the PRC-broadcast paper, measured; what is measured and how, `aforesaid.reproduce.costs` tells.

The same table as `aforesaid reproduce table1`, to the screen alone.
"""

from time import perf_counter

from aforesaid.reproduce.costs import SIZES, TERMS, measure
from aforesaid.reproduce.table1 import lines

if __name__ == "__main__":
    began = perf_counter()
    for line in lines([measure(name, n) for name in TERMS for n in SIZES]):
        print(line)
    print(f"\n{perf_counter() - began:.0f} s")
