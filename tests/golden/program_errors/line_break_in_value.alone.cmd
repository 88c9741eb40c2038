data --input README.md --out "$TMP/d" --tokenizer "$(printf 'by\nte')"
