scale --params configs/params/tiny.yaml,,configs/params/small.yaml --out "$TMP/o"
