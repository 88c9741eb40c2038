scale --params configs/params/tiny.yaml --num_csx 1 --out "$TMP/s" --tokens 1e300
