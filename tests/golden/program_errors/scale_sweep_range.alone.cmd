scale --params configs/params/tiny.yaml --out "$TMP/o" --sweep cluster.swarmx.latency=5us..1us
