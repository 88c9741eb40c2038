reproduce genslm '' --out "$TMP/o"
