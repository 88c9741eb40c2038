reproduce pie --out "$TMP/o"
