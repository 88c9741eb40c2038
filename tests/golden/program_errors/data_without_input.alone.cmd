data --out "$TMP/o"
