run --params configs/params/tiny.yaml --compile_only --trace "$TMP/t.json"
