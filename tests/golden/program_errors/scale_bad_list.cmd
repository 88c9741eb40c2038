scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 1,two
