scale --params configs/params/tiny.yaml --out "$TMP/o" --sweep cluster.swarmx.latancy=1us..5us
