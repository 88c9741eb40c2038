reproduce genslm --only genslm --out "$TMP/o"
