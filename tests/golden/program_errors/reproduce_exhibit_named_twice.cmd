reproduce genslm genslm --out "$TMP/o"
