scale --params configs/params/tiny.yaml --out "$TMP/o" --sweep cluster.swarmx.latency=1..5
