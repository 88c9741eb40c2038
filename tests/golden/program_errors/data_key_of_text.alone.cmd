data --input README.md --out "$TMP/o" --jsonl_key text
