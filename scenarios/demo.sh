#!/bin/sh
# The main job end to end; `make demo` calls it. What it makes lies in demo-out/.
set -eu
OUT=demo-out
run() { printf '\n$ %s\n' "aforesaid $*"; "$BIN/aforesaid" "$@"; }
rm -rf "$OUT"

echo "1. What can go wrong? Five simulated processes talk by reliable broadcast, which promises no order,"
echo "   on a network that loses, doubles and reorders. The checker finds a message before what it answers."
run simulate scenarios/demo.toml --out "$OUT/simulated" --run unordered --algorithm reliable
run check "$OUT/simulated/run=unordered" --property causal --witnesses 1 && exit 1 || test $? -eq 1

echo "2. The same network with an algorithm that keeps causal order, judged and drawn."
run simulate scenarios/demo.toml --out "$OUT/simulated" --run causal
run check "$OUT/simulated/run=causal"
run draw "$OUT/simulated/run=causal" --out "$OUT/spacetime.svg" --messages 14

echo
echo "3. Now for real: five node processes with encrypted UDP between them, through a relay that loses, doubles"
echo "   and reorders their datagrams. One is killed with -9; the others are stuck with it, say why, and go on"
echo "   once it is evicted."
"$BIN/python" scenarios/cluster_demo.py "$OUT/cluster"

echo
echo "4. Each node wrote down what it said and delivered. Their segments, the killed one's too, become one trace."
run ingest "$OUT/cluster" --out "$OUT/traces" | tee "$OUT/ingested.txt"
grep -q "^alice, bob, carol, dave alive; erin evicted" "$OUT/ingested.txt"

echo
echo "5. Was anything lost, doubled or out of order? The audit on Spark, as on a cluster for terabytes of traces."
echo "   (Spark takes some seconds to start.)"
run audit "$OUT/traces" --out "$OUT/audit"

echo
echo "6. What happened, who took part and the verdict, on one page."
run report "$OUT/audit" "$OUT/traces/run=nodes" --note "$OUT/cluster/what-happened.txt" --out "$OUT/report.html"

echo
echo "Open $OUT/report.html and $OUT/spacetime.svg in a browser. Then try nodes yourself: aforesaid cluster 3."
