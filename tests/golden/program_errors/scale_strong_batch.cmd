scale --params configs/params/tiny.yaml --out "$TMP/o" --scaling strong --batch_per_csx 10
