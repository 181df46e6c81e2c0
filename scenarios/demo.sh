#!/bin/sh
# The main job end to end; `make demo` calls it. What it makes lies in demo-out/.
set -eu
OUT=demo-out
run() { printf '\n$ %s\n' "aforesaid $*"; "$BIN/aforesaid" "$@"; }
rm -rf "$OUT"
mkdir -p "$OUT/cluster"
# It watches part 3 while that runs; until then there is nothing to see, and Spark starts meanwhile.
"$BIN/aforesaid" watch "$OUT/cluster" --out "$OUT/watched" --page "$OUT/live.html" --until-idle 5 \
    >"$OUT/watched.txt" 2>&1 &
WATCH=$!
trap 'kill "$WATCH" 2>/dev/null || true' EXIT

echo "1. What can go wrong? Five simulated processes talk by reliable broadcast, which promises no order,"
echo "   on a network that loses, doubles and reorders. The checker finds a message before what it answers."
run simulate scenarios/demo.toml --out "$OUT/simulated" --run unordered --algorithm reliable
run check "$OUT/simulated/run=unordered" --property causal --witnesses 1 && exit 1 || test $? -eq 1

echo "2. The same network with an algorithm that keeps causal order, judged; why a message waited, told and drawn."
run simulate scenarios/demo.toml --out "$OUT/simulated" --run causal
run check "$OUT/simulated/run=causal"
run why "$OUT/simulated/run=causal" p2#7 p1
run draw "$OUT/simulated/run=causal" --around p2#7 --messages 5 --process p1 --process p2 --process p3 \
    --out "$OUT/spacetime.svg"

echo
echo "3. Now for real: five node processes with encrypted UDP between them, through a relay that loses, doubles"
echo "   and reorders their datagrams. One is killed with -9; the others are stuck with it, say why, and go on"
echo "   once it is evicted. Meanwhile they are watched on Spark: open $OUT/live.html, which fills as they talk."
"$BIN/python" scenarios/cluster_demo.py "$OUT/cluster"

echo
printf '$ %s\n' "aforesaid watch $OUT/cluster --out $OUT/watched --page $OUT/live.html --until-idle 5"
wait "$WATCH" || { cat "$OUT/watched.txt"; exit 1; }
trap - EXIT
cat "$OUT/watched.txt"

echo
echo "4. Each node wrote down what it said and delivered, and what waited. Their segments, the killed one's too, become"
echo "   one trace, which tells which messages were held back longest before they could leave, and for what."
run ingest "$OUT/cluster" --out "$OUT/traces" | tee "$OUT/ingested.txt"
run why "$OUT/traces/run=nodes" | tail -n 4
grep -q "^alice, bob, carol, dave alive; erin evicted" "$OUT/ingested.txt"

echo
echo "5. Was anything lost, doubled or out of order? The audit on Spark, as on a cluster for terabytes of traces."
echo "   (Spark takes some seconds to start.)"
run audit "$OUT/traces" --out "$OUT/audit"

echo
echo "6. What happened, who took part and the verdict, on one page."
run report "$OUT/audit" "$OUT/traces/run=nodes" --note "$OUT/cluster/what-happened.txt" --view "$OUT/view.html" \
    --out "$OUT/report.html"

echo
echo "7. All three runs to explore, message by message: which one broke the order, why one waited, what the nodes did."
run view "$OUT/simulated/run=unordered" "$OUT/simulated/run=causal" "$OUT/traces/run=nodes" --out "$OUT/view.html"

echo
echo "Open $OUT/live.html, $OUT/report.html, $OUT/spacetime.svg and, best, $OUT/view.html in a browser."
echo "Then try nodes yourself: aforesaid cluster 3."
