scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 1,1,2
