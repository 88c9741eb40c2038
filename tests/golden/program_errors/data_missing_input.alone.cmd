data --input "$TMP/none.txt" --out "$TMP/o"
