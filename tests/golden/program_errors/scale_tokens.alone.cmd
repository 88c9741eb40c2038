scale --params configs/params/tiny.yaml --out "$TMP/o" --tokens 20params
