data --input README.md --out "$TMP/o" --column review
