data --input README.md --out "$TMP/o" --seed 3
