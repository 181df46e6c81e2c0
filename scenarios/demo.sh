#!/bin/sh
# The main job end to end; `make demo` calls it. What it makes lies in demo-out/.
set -eu
OUT=demo-out
run() { printf '\n$ %s\n' "aforesaid $*"; "$BIN/aforesaid" "$@"; }
rm -rf "$OUT"

echo "1. Five processes talk over a network that loses, duplicates, reorders and parts; one of them crashes."
run simulate scenarios/demo.toml --out "$OUT/traces" --run causal

echo
echo "2. Did every process deliver everything exactly once, and nothing before what was said before it?"
run check "$OUT/traces/run=causal"

echo "3. The same network without causal order: reliable broadcast alone. The checker shows what goes wrong."
run simulate scenarios/demo.toml --out "$OUT/traces" --run unordered --algorithm reliable
run check "$OUT/traces/run=unordered" --property causal --witnesses 3 && exit 1 || test $? -eq 1

echo "4. Not one run but every schedule there is, at a small scope."
run explore waiting --processes 3 --messages 1 --crashes 1

echo
echo "5. A picture of the first run."
run draw "$OUT/traces/run=causal" --out "$OUT/spacetime.svg" --messages 14

echo
echo "6. The data pipeline, on Spark: every run judged for causal order, as it would be on a cluster for terabytes."
echo "   (Spark takes some seconds to start, here and below.)"
run audit "$OUT/traces" --property causal --out "$OUT/audit" && exit 1 || test $? -eq 1

echo
echo "7. Latency, space and traffic of both runs, measured on Spark; then everything on one page."
run metrics "$OUT/traces" --out "$OUT/metrics"
run report "$OUT/audit" "$OUT/metrics" --out "$OUT/report.html"

echo
echo "All of it lies in $OUT/. Open $OUT/report.html and $OUT/spacetime.svg in a browser;"
echo "read scenarios/demo.toml and change it; for many scenarios at once see scenarios/sweep.toml."
