scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 2 --set cluster.what_if.straggler=2 --set cluster.what_if.straggler_wafer=2
