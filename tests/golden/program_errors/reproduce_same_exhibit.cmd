reproduce --out "$TMP/o" --only genslm,genslm
