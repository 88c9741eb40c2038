scale --params configs/params/tiny.yaml,configs/params/tiny.yaml --out "$TMP/o"
